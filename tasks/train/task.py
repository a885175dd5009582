"""Prefect task: one training run, found done, continued or begun; its process group ends with the task."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from prefect import get_run_logger, task
from prefect.cache_policies import NO_CACHE

from configs.base import fingerprint
from tasks.core.errors import LaunchError
from tasks.core.manifest import Manifest, version_name
from tasks.io.checkpoints import check_same, list_checkpoints, newest_usable
from tasks.io.devices import num_gpus
from tasks.io.environment import code_state, library_versions
from tasks.io.launch import STOPPED, launch, locked, require_compiler
from tasks.io.records import Appender, Follower, RunFolder, read_json
from tasks.io.store import Store
from tasks.io.versions import read_manifest
from tasks.train import stage
from tasks.train.stage import TrainConfig

LIBRARIES = ("torch", "deepspeed", "transformers", "tokenizers", "safetensors", "numpy", "pyarrow")
Hook = Callable[[Mapping[str, Any]], None]


@dataclass(frozen=True, slots=True)
class TrainResult:
    """A finished run: first and last loss, checkpoint folders (oldest first), launches so far, whether it was there."""

    run_id: str
    version: str
    num_steps: int
    num_tokens: int
    first_loss: float
    last_loss: float
    checkpoints: tuple[str, ...]
    attempt: int
    reused: bool


def nothing(_record: Mapping[str, Any]) -> None:
    """Do nothing with a record."""


@task(name="train", task_run_name="train · {config.name}", cache_policy=NO_CACHE)
def train_run(
    store: Store,
    config: TrainConfig,
    version: str,
    on_metrics: Hook = nothing,
    should_stop: Callable[[], bool] = lambda: False,
) -> TrainResult:
    """Train, or find it done. ``on_metrics`` gets every new record of metrics.jsonl while it goes on.

    Raises:
        PipelineError: settings and data do not fit, the run is in use, or training failed or was stopped.
    """
    manifest = read_manifest(store, version)
    gpus = num_gpus()
    ranks = config.num_ranks or max(1, gpus)
    stage.check_device(config, gpu=gpus > 0)
    plan = stage.plan_training(config, stage.data_facts(manifest), ranks)
    identity = run_identity(config, manifest)
    run = run_folder(store, run_id_of(config, manifest))
    with locked(run):
        if run.done.exists():
            return _result(run, version, reused=True)
        if config.offload_optimizer:
            require_compiler(run.run_id)
        attempt = _prepare(run, store, config, manifest, identity, plan.world_size)
        _launch(run, ranks, attempt, on_metrics, should_stop)
        return _result(run, version, reused=False)


def run_identity(config: TrainConfig, manifest: Manifest) -> dict[str, Any]:
    """Return everything that shapes a run's result: settings, data, meaning of the code."""
    return {"config": config.identity(), "data": manifest.fingerprint, "train": stage.VERSION}


def run_id_of(config: TrainConfig, manifest: Manifest) -> str:
    """Return the id of a run: its name, and the fingerprint of what shapes its result."""
    return version_name(config.name, fingerprint(run_identity(config, manifest)))


def run_folder(store: Store, run_id: str) -> RunFolder:
    """Return the folder of a run in a local store."""
    return RunFolder(store.local_path(f"runs/{run_id}"))


def _prepare(
    run: RunFolder, store: Store, config: TrainConfig, manifest: Manifest, identity: dict[str, Any], ranks: int
) -> int:
    run.prepare()
    start = newest_usable(run, lambda problem: _report(run, problem))
    if start:
        check_same(start, identity)
    if not run.attempts():
        facts = {"run": run.run_id, "data_version": manifest.version, "identity": identity}
        run.write_facts({**facts, "config": config.model_dump(mode="json")})
    attempt = run.new_attempt(
        {
            "config": config.model_dump(mode="json"),
            "start_from": start.path.name if start else "",
            "world_size": ranks,
            "code": code_state(),
            "libraries": library_versions(LIBRARIES),
        }
    )
    return int(attempt["attempt"])


def _report(run: RunFolder, problem: str) -> None:
    """Say that a checkpoint is damaged, and put it on record."""
    get_run_logger().warning(problem)
    with Appender(run.incidents) as incidents:
        incidents.append({"attempt": len(run.attempts()) + 1, "kind": "damaged_checkpoint", "problem": problem})


def _launch(run: RunFolder, ranks: int, attempt: int, on_metrics: Hook, should_stop: Callable[[], bool]) -> None:
    logger = get_run_logger()
    follower = Follower(run.metrics, from_end=True)

    def on_tick() -> None:
        for record in follower.new():
            on_metrics(record)

    command = ["-m", "tasks.train.entry", str(run.path)]
    outcome = "stopped"  # by Ctrl-C or a cancelled flow run, unless something else is seen
    try:
        code = launch(command, ranks, run, run.done, logger.info, should_stop, on_tick)
        outcome = "stopped" if code == STOPPED else "done"
    except Exception:
        outcome = "failed"
        raise
    finally:
        run.end_attempt(attempt, {"outcome": outcome})
    if code == STOPPED:
        raise LaunchError(f"run {run.run_id}", "was stopped", "start it again to continue from its newest checkpoint")


def _result(run: RunFolder, version: str, *, reused: bool) -> TrainResult:
    done = read_json(run.done)
    return TrainResult(
        run_id=run.run_id,
        version=version,
        num_steps=done["step"],
        num_tokens=done["tokens"],
        first_loss=done["first_loss"],
        last_loss=done["last_loss"],
        checkpoints=tuple(str(checkpoint.path) for checkpoint in list_checkpoints(run)),
        attempt=len(run.attempts()),
        reused=reused,
    )
