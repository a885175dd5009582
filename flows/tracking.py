"""Links between the three records of the same thing: Prefect's flow run, the MLflow run, and the store."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from prefect import get_client
from prefect.artifacts import create_markdown_artifact
from prefect.runtime import flow_run

from flows.progress import reporter
from tasks.core.manifest import Manifest
from tasks.io.records import RunFolder
from tasks.io.store import Store
from tasks.io.tracking import DataRecord, Tracker
from tasks.io.training_tracker import TrackedRun, TrainingTracker


def tracking_uri(store: Store) -> str:
    """Return where MLflow records: MLFLOW_TRACKING_URI, else a SQLite file in the store (./store for a remote one)."""
    root = store.local_path("") if store.is_local else Path("store").resolve()
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{root}/mlflow.db"


def flow_run_tags() -> dict[str, str]:
    """Return the MLflow tags that lead back to the Prefect flow run; none outside of one."""
    if not flow_run.id:
        return {}
    return {"prefect.flow_run_id": str(flow_run.id), "prefect.url": str(flow_run.ui_url or "")}


def track_refresh(store: Store, manifest: Manifest) -> str:
    """Record a data version in MLflow once, link both ways, and return the MLflow run id ("" when MLflow is away)."""
    uri = tracking_uri(store)
    try:
        run_id = Tracker(uri).log_refresh(manifest, flow_run_tags())
    except Exception as error:  # noqa: BLE001 - a view that is away must not cost the version; the next start sends it
        reporter().note(f"MLflow at {uri} did not take data version {manifest.version}: {str(error).splitlines()[0]}")
        return ""
    link_flow_run(run_id, manifest.version, "data version")
    return run_id


@contextmanager
def tracked(store: Store, run: RunFolder, train: dict[str, Any], manifest: Manifest) -> Iterator[TrainingTracker]:
    """Send a run folder to MLflow while the block runs; its end becomes the MLflow run's status."""
    data = DataRecord(
        manifest.version,
        manifest.fingerprint,
        store.path(f"versions/{manifest.version}/manifest.json"),
        manifest.num_rows,
        manifest.num_tokens,
    )
    known = TrackedRun(run.run_id, {"train": train}, data, flow_run_tags())
    with TrainingTracker(tracking_uri(store), run.path, known) as tracker:
        yield tracker
    link_flow_run(tracker.mlflow_run_id, run.run_id, "run")


def link_flow_run(mlflow_run_id: str, name: str, kind: str) -> None:
    """Tag the Prefect flow run with the MLflow run, and show where to look."""
    if not flow_run.id or not mlflow_run_id:
        return
    with get_client(sync_client=True) as client:
        tags = {*client.read_flow_run(flow_run.id).tags, f"mlflow:{mlflow_run_id}", f"{kind}:{name}".replace(" ", "-")}
        client.update_flow_run(flow_run.id, tags=sorted(tags))
    server = os.environ.get("MLFLOW_TRACKING_URI", "")
    address = server if server.startswith("http") else "http://127.0.0.1:5000"
    create_markdown_artifact(
        key=f"{kind.replace(' ', '-')}-links",
        description=f"Where {kind} {name} is recorded",
        markdown=(
            f"| | |\n|---|---|\n| {kind} | `{name}` |\n"
            f"| MLflow run | [{mlflow_run_id}]({address}/#/runs/{mlflow_run_id}) (`glassworks ui` opens MLflow) |\n"
        ),
    )
