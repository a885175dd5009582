"""Prefect task: measure every kept checkpoint of a run that is not on record yet."""

from typing import Any

from prefect import get_run_logger, task
from prefect.cache_policies import NO_CACHE

from tasks.core.errors import LaunchError
from tasks.evaluate.stage import EvaluateConfig
from tasks.io.checkpoints import list_checkpoints
from tasks.io.launch import STOPPED, launch, locked
from tasks.io.records import RunFolder, read_records
from tasks.io.store import Store
from tasks.io.versions import read_manifest


@task(name="evaluate", task_run_name="evaluate · {run_id}", cache_policy=NO_CACHE)
def evaluate_run(store: Store, run_id: str, config: EvaluateConfig | None = None) -> list[dict[str, Any]]:
    """Return the run's evaluations: one record per checkpoint and source.

    Raises:
        PipelineError: no such run, the run is in use, or evaluation failed.
    """
    run = RunFolder(store.local_path(f"runs/{run_id}"))
    manifest = read_manifest(store, run.facts()["data_version"])
    if not any(record.num_documents for record in manifest.validation):
        return []
    with locked(run):
        known = {record["step"] for record in read_records(run.evaluations)}
        if any(checkpoint.step not in known for checkpoint in list_checkpoints(run)):
            run.evaluated.unlink(missing_ok=True)
            settings = (config or EvaluateConfig()).model_dump_json()
            command = ["-m", "tasks.evaluate.entry", str(run.path), settings]
            if launch(command, 1, run, run.evaluated, get_run_logger().info) == STOPPED:
                raise LaunchError(f"run {run_id}", "evaluation was stopped", "start it again to go on")
    return read_records(run.evaluations)
