"""MLflow as a view: refreshes and runs arrive whole, once, and an absent server costs nothing."""

import json
import math
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tasks.core.counts import Counts
from tasks.core.manifest import Manifest, MixRecord, ShardRecord, TokenizerRecord, ValidationRecord
from tasks.io import services
from tasks.io.metric_rows import metric_values, new_rows
from tasks.io.services import LocalServices
from tasks.io.tracking import DataRecord, Tracker, connect, experiment_id, flat_params
from tasks.io.training_tracker import TrackedRun, TrainingTracker

# SQLAlchemy warns about what MLflow's own models use.

FINGERPRINT = "ab" * 32
VERSION = f"demo-{FINGERPRINT[:12]}"
DATA = DataRecord(VERSION, FINGERPRINT, "/store/versions/demo/manifest.json", 40, 20_000)


@pytest.fixture(scope="module")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with its tables; making them takes seconds, a copy takes none."""
    file = tmp_path_factory.mktemp("mlflow") / "mlflow.db"
    connect(f"sqlite:///{file}").search_experiments()
    return file


@pytest.fixture
def uri(empty_database: Path, tmp_path: Path) -> str:
    shutil.copy(empty_database, tmp_path / "mlflow.db")
    return f"sqlite:///{tmp_path / 'mlflow.db'}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "runs" / "demo-run"
    folder.mkdir(parents=True)
    return folder


def manifest() -> Manifest:
    return Manifest(
        name="demo", fingerprint=FINGERPRINT, parent="", created_at="2026-01-01T00:00:00+00:00",
        config={"name": "demo", "sources": [{"name": "web", "weight": 65.0, "languages": ["en"]}], "note": "x" * 900},
        code={"commit": "c0ffee", "dirty": False}, libraries={"python": "3.11.7"}, inputs=[],
        funnel={"web": {"extract": Counts(seen=10, kept=7, dropped={"no_text": 2, "timeout": 1})}},
        mix=[MixRecord(source="web", weight_declared=65, weight_normalised=1, tokens_available=900, tokens_asked=800,
                       tokens_realised=790, share_realised=1, epochs=0.9)],
        validation=[ValidationRecord(source="web", num_documents=1, num_bytes=100, num_tokens=30)],
        licenses={"MIT": 7}, languages={"en": 7},
        tokenizer=TokenizerRecord(origin="trained", vocab_size=4096, eos_token_id=0, pad_token_id=1, sha256="0" * 64,
                                  bytes_per_token=3.5),
        decontamination={}, row_format="packed-rows/1", sequence_length=512,
        train_shards=[ShardRecord(path="train/s", num_rows=40, num_tokens=790, num_documents=7, sha256="1" * 64)],
        validation_shards={},
    )  # fmt: skip


def write_metrics(folder: Path, steps: range, **values: Any) -> None:
    with (folder / "metrics.jsonl").open("a") as file:
        for step in steps:
            row = {
                "attempt": 1,
                "step": step,
                "time": 1_700_000_000 + step,
                "loss": 9 - step / 100,
                "lr": 1e-3,
                **values,
            }
            file.write(json.dumps(row) + "\n")


def write_checkpoint(folder: Path, step: int) -> None:
    checkpoint = folder / "checkpoints" / f"step-{step:08d}"
    checkpoint.mkdir(parents=True)
    (checkpoint / "manifest.json").write_text("{}")


def write_evaluation(folder: Path, step: int, source: str, loss: float) -> None:
    row = {"step": step, "time": 1_700_000_000 + step, "source": source, "loss": loss, "bits_per_byte": loss / 3}
    with (folder / "evaluations.jsonl").open("a") as file:
        file.write(json.dumps(row) + "\n")


def tracker(uri: str, folder: Path, warn: Callable[[str], None] = print, **settings: Any) -> TrainingTracker:
    run = TrackedRun("demo-run", {"train": {"lr": 0.001, "steps": 100}}, DATA, {"prefect.flow_run_id": "f-1"})
    return TrainingTracker(uri, folder, run, interval_seconds=0.05, warn=warn, **settings)


def history(uri: str, run_id: str, name: str) -> list[tuple[int, float]]:
    return [(item.step, item.value) for item in connect(uri).get_metric_history(run_id, name)]


def models(uri: str, run_id: str) -> list[Any]:
    client = connect(uri)
    experiment = client.get_run(run_id).info.experiment_id
    return list(client.search_logged_models([experiment], f"source_run_id = '{run_id}'"))


def test_a_refresh_shows_its_config_funnel_mix_and_manifest(uri: str, tmp_path: Path) -> None:
    run_id = Tracker(uri).log_refresh(manifest(), {"prefect.flow_run_id": "f-1"})
    client = connect(uri)
    run = client.get_run(run_id)
    assert run.info.status == "FINISHED"
    assert run.data.params["sources.web.weight"] == "65.0"
    assert len(run.data.params["note"]) == 500
    assert run.data.metrics["funnel/web/extract/kept"] == 7
    assert run.data.metrics["funnel/web/extract/dropped/no_text"] == 2
    assert run.data.metrics["mix/web/tokens_realised"] == 790
    assert run.data.tags["glassworks.data_version"] == VERSION
    assert run.data.tags["prefect.flow_run_id"] == "f-1"
    assert {item.path for item in client.list_artifacts(run_id)} == {"config.yaml", "manifest.json", "funnel.json"}
    kept = tmp_path / "mlflow-artifacts" / "glassworks-refresh" / run_id / "artifacts" / "manifest.json"
    assert Manifest.model_validate_json(kept.read_bytes()) == manifest()


def test_a_data_version_is_logged_once_and_a_half_sent_run_is_closed(uri: str) -> None:
    client = connect(uri)
    experiment = experiment_id(client, uri, "glassworks-refresh")
    half = client.create_run(experiment, tags={"glassworks.data_version": VERSION}).info.run_id
    first = Tracker(uri).log_refresh(manifest(), {})
    assert Tracker(uri).log_refresh(manifest(), {}) == first
    assert client.get_run(half).info.status == "KILLED"
    assert len(client.search_runs([experiment])) == 2


def test_a_run_arrives_whole_with_its_dataset_and_checkpoints(
    uri: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_metrics(folder, range(1, 4))
    with tracker(uri, folder) as sent:
        write_metrics(folder, range(4, 11))
        write_checkpoint(folder, 10)
        write_evaluation(folder, 10, "web", 6.0)
    run = connect(uri).get_run(sent.mlflow_run_id)
    assert run.info.status == "FINISHED"
    assert history(uri, sent.mlflow_run_id, "train/loss") == [(step, 9 - step / 100) for step in range(1, 11)]
    assert run.data.params["train.lr"] == "0.001"
    assert run.data.params["data_digest"] == FINGERPRINT[:36]
    (dataset,) = [item.dataset for item in run.inputs.dataset_inputs]
    assert (dataset.name, dataset.digest) == (VERSION, FINGERPRINT[:36])
    assert json.loads(dataset.source) == {"uri": DATA.manifest_url}
    (model,) = models(uri, sent.mlflow_run_id)
    assert model.name == "step-00000010"
    assert str(model.status) == "READY"
    assert model.tags["glassworks.checkpoint"] == str(folder / "checkpoints" / "step-00000010")
    assert {metric.key: metric.value for metric in model.metrics} == {
        "validation/web/loss": 6.0,
        "validation/web/bits_per_byte": 2.0,
    }
    assert [output.model_id for output in run.outputs.model_outputs] == [model.model_id]
    assert "MLFLOW_TRACKING_URI" not in os.environ
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)  # which the registry uses to find the model
    registered = connect(uri)
    registered.create_registered_model("demo")
    registered.create_model_version("demo", f"models:/{model.model_id}", sent.mlflow_run_id, model_id=model.model_id)


def test_a_resumed_run_goes_on_in_the_same_mlflow_run_and_nothing_is_doubled(uri: str, folder: Path) -> None:
    write_metrics(folder, range(1, 4))
    write_checkpoint(folder, 3)
    write_evaluation(folder, 3, "web", 6.0)
    with pytest.raises(KeyboardInterrupt), tracker(uri, folder) as first:
        raise KeyboardInterrupt
    assert connect(uri).get_run(first.mlflow_run_id).info.status == "KILLED"
    state = json.loads((folder / "shipped.json").read_text())
    (folder / "shipped.json").write_text(json.dumps({**state, "metrics_bytes": 0, "models": {}, "evaluations": {}}))
    write_metrics(folder, range(4, 6))
    with pytest.raises(ValueError, match="a fault"), tracker(uri, folder) as second:
        raise ValueError("a fault")
    assert second.mlflow_run_id == first.mlflow_run_id
    assert connect(uri).get_run(first.mlflow_run_id).info.status == "FAILED"
    assert [step for step, _ in history(uri, first.mlflow_run_id, "train/loss")] == [1, 2, 3, 4, 5]
    assert len(models(uri, first.mlflow_run_id)) == 1
    assert not second.is_complete
    with tracker(uri, folder) as third:
        pass
    assert third.is_complete
    assert connect(uri).get_run(first.mlflow_run_id).info.status == "FINISHED"
    with tracker("http://127.0.0.1:9", folder) as elsewhere:  # another server knows nothing yet
        assert not elsewhere.is_complete
        elsewhere._patience = 0
    assert elsewhere.num_failures > 0


def test_a_run_that_was_sent_whole_is_not_sent_again(uri: str, folder: Path) -> None:
    write_metrics(folder, range(1, 4))
    with tracker(uri, folder):
        pass
    Path(uri.removeprefix("sqlite:///")).unlink()  # would be missed
    with tracker(uri, folder) as again:
        assert again.is_complete
    assert again.num_failures == 0
    assert not Path(uri.removeprefix("sqlite:///")).exists()
    write_evaluation(folder, 3, "web", 1.0)
    assert not again.is_complete


def test_an_evaluation_that_comes_before_its_checkpoint_reaches_the_model_later(uri: str, folder: Path) -> None:
    write_evaluation(folder, 5, "web", 6.0)
    sent = tracker(uri, folder)
    sent.ship()
    assert history(uri, sent.mlflow_run_id, "validation/web/loss") == [(5, 6.0)]
    write_checkpoint(folder, 5)
    write_evaluation(folder, 5, "code", 3.0)
    sent.ship()
    (model,) = models(uri, sent.mlflow_run_id)
    assert {metric.key for metric in model.metrics} == {
        f"validation/{source}/{name}" for source in ("web", "code") for name in ("loss", "bits_per_byte")
    }
    assert history(uri, sent.mlflow_run_id, "validation/web/loss") == [(5, 6.0)]


def test_a_changed_value_of_a_resumed_run_becomes_a_tag(uri: str, folder: Path) -> None:
    first = tracker(uri, folder)
    first.ship()
    changed = TrackedRun("demo-run", {"train": {"lr": 0.001, "steps": 200}}, DATA)
    second = TrainingTracker(uri, folder, changed)
    second.ship()
    run = connect(uri).get_run(first.mlflow_run_id)
    assert run.data.params["train.steps"] == "100"
    assert run.data.tags["changed.train.steps"] == "200"


def test_values_that_are_no_finite_numbers_are_said_to_be_so(uri: str, folder: Path) -> None:
    write_metrics(folder, range(1, 2), grad_norm=math.inf, loss=math.nan)
    sent = tracker(uri, folder)
    sent.ship()
    ((_, loss),) = history(uri, sent.mlflow_run_id, "train/loss")
    assert math.isnan(loss)
    assert history(uri, sent.mlflow_run_id, "train/loss_nonfinite") == [(1, 1.0)]
    assert history(uri, sent.mlflow_run_id, "train/grad_norm_nonfinite") == [(1, 1.0)]
    assert [name for name, *_ in metric_values({"step": 1, "loss": None, "done": True, "text": "x"})] == [
        "train/loss", "train/loss_nonfinite",
    ]  # fmt: skip


def test_a_line_that_is_being_written_waits_for_its_end(tmp_path: Path) -> None:
    file = tmp_path / "metrics.jsonl"
    file.write_bytes(b'{"step": 1}\n{"step"')
    ((rows, position),) = new_rows(file, 0)
    assert rows == [{"step": 1}]
    file.write_bytes(b'{"step": 1}\n{"step": 2}\n')
    assert [rows for rows, _ in new_rows(file, position)] == [[{"step": 2}]]


def test_params_have_stable_readable_names() -> None:
    config = {"a": {"b": 1, "c": []}, "sources": [{"name": "web", "x": True}], "list": [1, 2], "items": [{"y": ""}]}
    assert flat_params(config) == {
        "a.b": "1", "a.c": "[]", "sources.web.name": "web", "sources.web.x": "true", "list": "[1, 2]", "items.0.y": "",
    }  # fmt: skip


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in services._QUIET.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "5")


@pytest.fixture
def server(empty_database: Path, tmp_path: Path) -> LocalServices:
    shutil.copy(empty_database, tmp_path / "mlflow.db")
    return LocalServices(tmp_path)


def test_a_server_that_dies_midway_costs_a_warning_and_no_value(server: LocalServices, folder: Path) -> None:
    warnings: list[str] = []
    with server.mlflow_server() as url:
        port = int(url.rpartition(":")[2])
        sent = tracker(url, folder, warnings.append, patience_seconds=1)
        sent.__enter__()
        write_metrics(folder, range(1, 6))
        while not sent.mlflow_run_id or not history(url, sent.mlflow_run_id, "train/loss"):
            sent._stop.wait(0.05)
    write_metrics(folder, range(6, 500))  # nobody listens any more
    write_checkpoint(folder, 499)
    sent.finish("FINISHED")
    assert sent.num_failures > 0
    assert len(warnings) == 2
    assert "cannot reach MLflow" in warnings[0]
    assert not sent.is_complete
    with server.mlflow_server(port) as url, tracker(url, folder, warnings.append) as again:
        again.finish("FINISHED")
        assert again.mlflow_run_id == sent.mlflow_run_id
        assert [step for step, _ in history(url, again.mlflow_run_id, "train/loss")] == list(range(1, 500))
        assert len(models(url, again.mlflow_run_id)) == 1
        assert connect(url).get_run(again.mlflow_run_id).info.status == "FINISHED"
