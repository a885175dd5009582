"""The training half: a data version and settings in, a trained, evaluated and tracked run out.

Starting the same settings on the same data again continues the run, or finds it done.
"""

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from prefect import flow
from prefect.artifacts import create_table_artifact

from flows.evaluate import evaluations_of
from flows.listings import newest_version
from flows.pretrain_config import PretrainConfig
from flows.progress import Stage, reporter
from flows.results import PretrainResult
from flows.stores import open_store
from flows.tracking import tracked
from models.config import num_parameters
from tasks.core.errors import InputError
from tasks.io.store import Store
from tasks.io.versions import read_manifest
from tasks.train.task import run_folder, run_id_of, train_run


@flow(name="pretrain", flow_run_name="pretrain {config.train.name}")
def pretrain(config: PretrainConfig) -> PretrainResult:
    """Train a model on a data version, and evaluate its checkpoints.

    Args:
        config: Which data, and everything that shapes the losses; opens filled with the YAML of the deployment.
    """
    store = open_store(config.store)
    manifest = read_manifest(store, config.data_version or _newest(store))
    run = run_folder(store, run_id_of(config.train, manifest))
    with ExitStack() as stack:
        show: list[Show] = []

        def on_metrics(record: Mapping[str, Any]) -> None:
            if not show:  # the first record: only now is the run surely ours
                stack.enter_context(tracked(store, run, config.train.model_dump(mode="json"), manifest))
                show.append(Show(stack.enter_context(reporter().stage("train", config.train.max_steps))))
            show[0](record)

        trained = train_run(store, config.train, manifest.version, on_metrics)
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
        num_parameters=num_parameters(config.train.model.shape, manifest.tokenizer.vocab_size),
        tokens_seen=trained.num_tokens,
    )


class Show:
    """Moves a progress bar with every new record of metrics.jsonl."""

    def __init__(self, stage: Stage) -> None:
        self._last = 0
        self._stage = stage

    def __call__(self, record: Mapping[str, Any]) -> None:
        """Take one record."""
        step, loss, speed = record["step"], record["loss"], record["tokens_per_second"]
        self._stage.advance(step - self._last)
        self._stage.note(f"step {step:,}  loss {loss:.3f}  {speed:,.0f} tokens/s")
        self._last = step


def _newest(store: Store) -> str:
    if version := newest_version(store):
        return version
    raise InputError(f"store {store.url}", "has no data version to train on", "make one: glassworks refresh CONFIG")
