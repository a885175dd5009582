"""Measure the checkpoints of a run on the held-out documents of each source."""

from typing import Any

from prefect import flow
from pydantic import Field

from configs.base import Config, execution_field
from flows.progress import reporter
from flows.stores import open_store
from flows.tracking import tracked
from tasks.core.manifest import Manifest
from tasks.evaluate import stage
from tasks.evaluate.task import evaluate_run
from tasks.io.records import RunFolder
from tasks.io.store import Store
from tasks.io.versions import read_manifest


class EvaluateConfig(Config):
    """Which run to measure, and how."""

    run_id: str = Field(description="Id of the run, as `glassworks runs` shows it.")
    evaluate: stage.EvaluateConfig = Field(
        default_factory=stage.EvaluateConfig, title="Evaluation", description="Batch size and samples."
    )
    store: str = execution_field("", description="Root of the store; empty: GLASSWORKS_STORE, else ./store.")


@flow(name="evaluate", flow_run_name="evaluate {config.run_id}")
def evaluate(config: EvaluateConfig) -> list[dict[str, Any]]:
    """Measure every kept checkpoint of a run that is not on record yet.

    Args:
        config: Which run, and how.
    """
    store = open_store(config.store)
    manifest = read_manifest(store, RunFolder(store.local_path(f"runs/{config.run_id}")).facts()["data_version"])
    evaluations, _ = evaluations_of(store, config.run_id, manifest, config.evaluate)
    return evaluations


def evaluations_of(
    store: Store, run_id: str, manifest: Manifest, config: stage.EvaluateConfig | None = None
) -> tuple[list[dict[str, Any]], str]:
    """Return the evaluations of a run, measuring what is missing, and the MLflow run that has them too."""
    run = RunFolder(store.local_path(f"runs/{run_id}"))
    with reporter().stage("evaluate", 0):
        evaluations = evaluate_run(store, run_id, config or stage.EvaluateConfig())
    with tracked(store, run, run.facts()["config"], manifest) as tracker:
        pass  # evaluated first: a run that is still training, and so locked, is not to be sent from here
    return evaluations, tracker.mlflow_run_id
