"""The training half as a user runs it: tracked, traced, found done, and safe from kill -9 of the flow."""

import hashlib
import json
import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pyarrow.parquet as pq
import pytest

from tasks.io.records import effective, read_records

SMALL_DATA = (
    "mix.num_tokens=200000", "mix.validation_share=0.1", "tokenizer.vocab_size=1024", "tokenizer.training_bytes=300000",
    "pack.sequence_length=128", "pack.rows_per_shard=64",
)  # fmt: skip
SMALL_RUN = (
    "train.model.size=tiny", "train.max_steps=24", "train.max_epochs=50", "train.global_batch_size=8",
    "train.micro_batch_size=4", "train.save_steps=5",
)  # fmt: skip
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def losses(run: Path) -> list[tuple[int, float, float]]:
    """Step, loss and applied learning rate of every step that counts."""
    return [(row["step"], row["loss"], row["lr"]) for row in effective(read_records(run / "metrics.jsonl"))]


def weights(run: Path) -> str:
    """SHA-256 of the last checkpoint's weights."""
    file = sorted(run.glob("checkpoints/step-*/model/model.safetensors"))[-1]
    return hashlib.sha256(file.read_bytes()).hexdigest()


def test_a_killed_training_continues_to_the_losses_and_weights_of_an_undisturbed_one(
    services: dict[str, str],
    new_store: Callable[[str], Path],
    glassworks: Callable[..., Any],
    killed_glassworks: Callable[..., None],
) -> None:
    quiet = new_store("quiet")
    version = glassworks("refresh", "demo", quiet, *SMALL_DATA)["version"]
    disturbed = quiet.parent / "disturbed"
    shutil.copytree(quiet, disturbed)
    done = glassworks("pretrain", "demo", quiet, *SMALL_RUN)
    first, second = (store / "runs" / done["run_id"] for store in (quiet, disturbed))
    for steps in sorted(random.Random(11).sample(range(2, 23), 2)):
        killed_glassworks(
            lambda steps=steps: second.is_dir() and len(losses(second)) >= steps,
            "pretrain",
            "demo",
            disturbed,
            *SMALL_RUN,
        )
    again = glassworks("pretrain", "demo", disturbed, *SMALL_RUN)
    assert again["run_id"] == done["run_id"]
    assert again["attempt"] == 3
    assert losses(first) == losses(second)
    assert [step for step, _, _ in losses(first)] == list(range(1, 25))
    assert weights(first) == weights(second)
    assert done["last_loss"] < done["first_loss"]
    assert done["data_version"] == version
    assert {row["source"] for row in done["evaluations"]} >= {"web", "code", "reference"}

    found = glassworks("pretrain", "demo", quiet, *SMALL_RUN)
    assert found["reused"]
    assert found["evaluations"] == done["evaluations"]
    _everything_is_linked(quiet, done)
    _the_step_is_traced(glassworks, quiet, done["run_id"])
    _the_flow_run_leads_to_mlflow(services, done)


def _everything_is_linked(store: Path, done: dict[str, Any]) -> None:
    """The MLflow database names the data version, the flow run and every checkpoint."""
    with sqlite3.connect(store / "mlflow.db") as database:
        tags = dict(database.execute("SELECT key, value FROM tags WHERE run_uuid = ?", [done["mlflow_run_id"]]))
        params = dict(database.execute("SELECT key, value FROM params WHERE run_uuid = ?", [done["mlflow_run_id"]]))
        status = database.execute("SELECT status FROM runs WHERE run_uuid = ?", [done["mlflow_run_id"]]).fetchone()
        datasets = [name for (name,) in database.execute("SELECT name FROM datasets")]
        models = {name for (name,) in database.execute("SELECT name FROM logged_models")}
        query = "SELECT step, value FROM metrics WHERE run_uuid = ? AND key = 'train/loss' ORDER BY step"
        shipped = database.execute(query, [done["mlflow_run_id"]]).fetchall()
    database.close()
    manifest = json.loads((store / "versions" / done["data_version"] / "manifest.json").read_text())
    assert status == ("FINISHED",)
    assert tags["glassworks.data_version"] == params["data_version"] == done["data_version"]
    assert params["data_digest"] == manifest["fingerprint"][:36]
    assert tags["prefect.flow_run_id"]
    assert params["train.max_steps"] == "24"
    assert done["data_version"] in datasets
    assert {f"step-{step:08d}" for step in (15, 20, 24)} <= models
    assert [(step, pytest.approx(value)) for step, value in shipped] == [
        (step, loss) for step, loss, _ in losses(store / "runs" / done["run_id"])
    ]


def _the_step_is_traced(glassworks: Callable[..., Any], store: Path, run_id: str) -> None:
    """Every segment of the batch has its address, and the tokens are those of the rows."""
    segments = glassworks("trace", run_id, store, step="3")
    assert {segment["source"] for segment in segments} <= {"web", "code", "books", "reference"}
    assert len({segment["row"] for segment in segments}) == 8
    assert all(segment["file"] and segment["license"] and segment["excerpt"] for segment in segments)
    (run,) = (store / "runs").iterdir()
    version = json.loads((run / "run.json").read_text())["data_version"]
    folder = store / "versions" / version
    shards = json.loads((folder / "manifest.json").read_text())["train_shards"]
    rows = [row for shard in shards for row in pq.read_table(folder / shard["path"]).to_pylist()]
    batch = rows[16:24]  # step 3 of 8 rows, in the order of the data
    expected = [
        (doc_id.hex(), offset, length)
        for row in batch
        for doc_id, offset, length in zip(
            row["segment_doc_ids"], row["segment_offsets"], row["segment_lengths"], strict=True
        )
    ]
    assert [(item["doc_id"], item["offset"], item["num_tokens"]) for item in segments] == expected


def _the_flow_run_leads_to_mlflow(services: dict[str, str], done: dict[str, Any]) -> None:
    """Prefect's flow run carries the MLflow run and our run as tags, and links as an artifact."""
    with httpx.Client(base_url=services["PREFECT_API_URL"]) as client:
        tags = [f"mlflow:{done['mlflow_run_id']}", f"run:{done['run_id']}"]
        found = client.post("/flow_runs/filter", json={"flow_runs": {"tags": {"all_": tags}}}).json()
        assert found
        assert {item["name"] for item in found} == {"pretrain demo"}
        wanted = {"artifacts": {"flow_run_id": {"any_": [found[0]["id"]]}, "key": {"any_": ["run-links"]}}}
        (artifact, *_) = client.post("/artifacts/filter", json=wanted).json()
    assert done["mlflow_run_id"] in artifact["data"]
