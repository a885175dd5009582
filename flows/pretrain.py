"""The training half: a data version and settings in, a trained, evaluated and tracked run out.

Starting the same settings on the same data again continues the run, or finds it done.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from prefect import flow
from prefect.artifacts import create_table_artifact

from flows.evaluate import evaluations_of
from flows.listings import newest_version
from flows.pretrain_config import PretrainConfig
from flows.progress import reporter
from flows.results import PretrainResult
from flows.stores import open_store
from flows.tracking import tracked
from tasks.core.errors import InputError
from tasks.io.records import RunFolder
from tasks.io.store import Store
from tasks.io.versions import read_manifest
from tasks.train.task import Hook, train_run


@flow(name="pretrain", flow_run_name="pretrain {config.train.name}")
def pretrain(config: PretrainConfig) -> PretrainResult:
    """Train a model on a data version, and evaluate its checkpoints.

    Args:
        config: Which data, and everything that shapes the losses; opens filled with the YAML of the deployment.
    """
    store = open_store(config.store)
    manifest = read_manifest(store, config.data_version or _newest(store))

    @contextmanager
    def watch(run: RunFolder, num_steps: int) -> Iterator[Hook]:
        with (
            tracked(store, run.path, run.run_id, config.model_dump(mode="json"), manifest),
            progress(num_steps) as hook,
        ):
            yield hook

    trained = train_run(store, config.train, manifest.version, watch)
    if trained.reused:
        reporter().note(f"nothing to train: run {trained.run_id} is done")
    evaluations, mlflow_run_id = evaluations_of(store, trained.run_id, manifest)
    create_table_artifact(evaluations, key="evaluations", description=f"Validation of run {trained.run_id}")
    return PretrainResult(
        run_id=trained.run_id,
        data_version=manifest.version,
        reused=trained.reused,
        attempt=trained.attempt,
        first_loss=trained.first_loss,
        last_loss=trained.last_loss,
        final_step=trained.num_steps,
        checkpoint_path=trained.checkpoints[-1],
        evaluations=evaluations,
        mlflow_run_id=mlflow_run_id,
        num_parameters=trained.num_parameters,
        tokens_seen=trained.num_tokens,
    )


@contextmanager
def progress(num_steps: int) -> Iterator[Hook]:
    """Move a progress bar with every new record of metrics.jsonl."""
    with reporter().stage("train", num_steps) as stage:
        last = 0

        def hook(record: Mapping[str, Any]) -> None:
            nonlocal last
            stage.advance(record["step"] - last)
            stage.note(
                f"step {record['step']:,}  loss {record['loss']:.3f}  {record['tokens_per_second']:,.0f} tokens/s"
            )
            last = record["step"]

        yield hook


def _newest(store: Store) -> str:
    if version := newest_version(store):
        return version
    raise InputError(f"store {store.url}", "has no data version to train on", "make one: glassworks refresh CONFIG")
