"""A training run in MLflow: a view of the run folder, sent by a thread that nothing waits for.

Property: the record comes first. The trainer writes ``metrics.jsonl``, ``evaluations.jsonl`` and checkpoints; this
reads them and sends what is new. A tracking server that is away or dies costs nothing but a warning; what it
missed is sent when it is back, at the end, or by the next start. ``shipped.json`` keeps how far it came; sending
twice changes nothing, so a stale position is safe. Cost: one read of new lines per interval, one request per
500 values; measured at 9,000 values a second over HTTP.
"""

import hashlib
import logging
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import yaml

from tasks.io.metric_rows import Row, metric_values, new_rows
from tasks.io.shipped import Shipped
from tasks.io.tracking import (
    PRETRAIN_EXPERIMENT,
    DataRecord,
    connect,
    dataset_input,
    experiment_id,
    flat_params,
    log_metrics,
    log_params,
    run_exists,
)

_MOST_SECONDS_BETWEEN_TRIES = 30.0
_LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TrackedRun:
    """What is known when a run starts: its id, resolved settings, data version, and links to other systems."""

    run_id: str
    config: Mapping[str, Any]
    data: DataRecord
    tags: Mapping[str, str] = field(default_factory=dict)


class TrainingTracker:
    """Sends one run folder to MLflow while its block runs; the block's end becomes the MLflow run's status."""

    def __init__(
        self,
        tracking_uri: str,
        folder: Path,
        run: TrackedRun,
        *,
        interval_seconds: float = 2.0,
        patience_seconds: float = 60.0,
        warn: Callable[[str], None] = _LOGGER.warning,
    ) -> None:
        self._uri = tracking_uri
        self._folder = folder
        self._run = run
        self._interval = interval_seconds
        self._patience = patience_seconds
        self._warn = warn
        self._state = Shipped(folder, tracking_uri)
        self._client: Any = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="mlflow", daemon=True)
        self.num_failures = 0

    @property
    def mlflow_run_id(self) -> str:
        """The MLflow run's id; empty as long as no tracking server has answered."""
        return str(self._state["mlflow_run_id"])

    @property
    def is_complete(self) -> bool:
        """Whether a finished run has been sent whole, so that there is nothing to do."""
        sizes = {name: _size(self._folder / f"{name}.jsonl") for name in ("metrics", "evaluations")}
        return bool(
            self._state["status"] == "FINISHED"
            and all(self._state[f"{name}_bytes"] >= size for name, size in sizes.items())
            and {file.parent.name for file in self._checkpoints()} <= set(self._state["models"])
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.finish("FINISHED")
        else:  # a cancelled flow run and Ctrl-C are no Exception
            self.finish("FAILED" if issubclass(kind, Exception) else "KILLED")

    def finish(self, status: str) -> None:
        """Send what is left, with patience, and close the MLflow run as FINISHED, FAILED or KILLED."""
        self._stop.set()
        self._thread.join()
        end = time.monotonic() + self._patience
        while not (status == "FINISHED" and self.is_complete) and not self._tried(status):
            if time.monotonic() > end:
                self._warn(f"{self._run.run_id}: MLflow at {self._uri} is away; start the run again to send the rest")
                return
            time.sleep(min(self._interval, 1.0))

    def ship(self, status: str = "") -> None:
        """Send everything that is new now, and the final status if there is one."""
        client = self._connected()
        for rows, position in new_rows(self._folder / "metrics.jsonl", self._state["metrics_bytes"]):
            log_metrics(client, self.mlflow_run_id, [value for row in rows for value in metric_values(row)])
            self._state.keep(metrics_bytes=position)
        self._ship_checkpoints(client)
        self._ship_evaluations(client)
        if status:
            client.set_terminated(self.mlflow_run_id, status)
            self._state.keep(status=status)

    def _follow(self) -> None:
        pause = 0.0
        while not self._stop.wait(pause):
            done = self.is_complete or self._tried()
            pause = self._interval if done else min(max(2 * pause, self._interval), _MOST_SECONDS_BETWEEN_TRIES)

    def _tried(self, status: str = "") -> bool:
        """Ship; whatever goes wrong with a view must not reach the training."""
        try:
            self.ship(status)
        except Exception as error:  # noqa: BLE001 - counted, told, and tried again
            if self.num_failures == 0:
                first_line = str(error).strip().split("\n")[0]
                self._warn(f"{self._run.run_id}: cannot reach MLflow ({first_line}); the record goes on, sent later")
            self.num_failures += 1
            self._client = None
            return False
        return True

    def _connected(self) -> Any:  # noqa: ANN401
        if self._client is None:
            client = connect(self._uri)
            experiment = experiment_id(client, self._uri, PRETRAIN_EXPERIMENT)
            if not self.mlflow_run_id or not run_exists(client, self.mlflow_run_id):
                run = client.create_run(experiment, run_name=self._run.run_id)
                self._state.restart(str(run.info.run_id))
            self._describe(client)
            self._state.keep(experiment_id=experiment, status="RUNNING")
            self._client = client
        return self._client

    def _describe(self, client: Any) -> None:  # noqa: ANN401
        run, data = self._run, self._run.data
        client.update_run(self.mlflow_run_id, status="RUNNING")
        versions = {"data_version": data.version, "data_digest": data.digest}
        log_params(client, self.mlflow_run_id, {**flat_params(run.config), **versions})
        own = {"run_id": run.run_id, "data_version": data.version, "data_digest": data.fingerprint}
        shown = {
            "mlflow.source.name": "glassworks pretrain",
            "mlflow.note.content": (
                f"Trained on data version `{data.version}` ({data.num_tokens:,} tokens).\n\n"
                f"Record: `{self._folder}`. Documents behind a step: `glassworks trace {run.run_id} --step N`."
            ),
        }
        for name, value in {
            **run.tags,
            **shown,
            **{f"glassworks.{name}": value for name, value in own.items()},
        }.items():
            client.set_tag(self.mlflow_run_id, name, value)
        client.log_inputs(self.mlflow_run_id, [dataset_input(data)])
        config = yaml.safe_dump(dict(run.config), sort_keys=False, allow_unicode=True)
        client.log_text(self.mlflow_run_id, config, "config.yaml")

    def _ship_checkpoints(self, client: Any) -> None:  # noqa: ANN401
        for manifest in self._checkpoints():
            name = manifest.parent.name
            if name in self._state["models"]:
                continue
            model_id = self._model(client, name, manifest)
            outputs = client.get_run(self.mlflow_run_id).outputs
            if model_id not in {output.model_id for output in outputs.model_outputs}:
                from mlflow.entities import LoggedModelOutput

                client.log_outputs(self.mlflow_run_id, [LoggedModelOutput(model_id, _step_of(name))])
            self._state.keep(models={**self._state["models"], name: model_id})

    def _checkpoints(self) -> list[Path]:
        return sorted(self._folder.glob("checkpoints/step-*/manifest.json"))

    def _model(self, client: Any, name: str, manifest: Path) -> str:  # noqa: ANN401
        """Return the id of the checkpoint's LoggedModel, making it if it is not there.

        This is ``mlflow.create_external_model`` without its global tracking URI, which would change the environment.
        """
        from mlflow.models.utils import get_external_mlflow_model_spec

        experiment = self._state["experiment_id"]
        same = f"name = '{name}' AND source_run_id = '{self.mlflow_run_id}'"
        for model in client.search_logged_models([experiment], same):
            if str(model.status) == "READY":
                return str(model.model_id)
            client.delete_logged_model(model.model_id)  # its making was cut off
        tags = {
            "mlflow.model.isExternal": "true",
            "glassworks.run_id": self._run.run_id,
            "glassworks.data_version": self._run.data.version,
            "glassworks.checkpoint": str(manifest.parent.absolute()),
            "glassworks.checkpoint_digest": hashlib.sha256(manifest.read_bytes()).hexdigest(),
        }
        model = client.create_logged_model(
            experiment, name, self.mlflow_run_id, tags, {"step": str(_step_of(name))}, "checkpoint"
        )
        with tempfile.TemporaryDirectory() as folder:  # what the model registry wants to see
            get_external_mlflow_model_spec(model).save(f"{folder}/MLmodel")
            client.log_model_artifacts(model.model_id, folder)
        client.finalize_logged_model(model.model_id, "READY")
        return str(model.model_id)

    def _ship_evaluations(self, client: Any) -> None:  # noqa: ANN401
        """Send evaluations to the run, and to the model of their checkpoint as soon as there is one."""
        by_step: dict[int, list[Row]] = {}
        end = 0
        for rows, end in new_rows(self._folder / "evaluations.jsonl", 0):  # noqa: B007 - the last one is kept
            for row in rows:
                by_step.setdefault(int(row["step"]), []).append(row)
        dataset = {"dataset_name": self._run.data.version, "dataset_digest": self._run.data.digest}
        for step, rows in by_step.items():
            model_id = self._state["models"].get(f"step-{step:08d}", "")
            sent = [len(rows), model_id]
            if self._state["evaluations"].get(str(step)) != sent:
                model = {"model_id": model_id} if model_id else {}
                values = [value for row in rows for value in metric_values(row, f"validation/{row['source']}")]
                log_metrics(client, self.mlflow_run_id, values, **dataset, **model)
                self._state.keep(evaluations={**self._state["evaluations"], str(step): sent})
        self._state.keep(evaluations_bytes=end)


def _size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


def _step_of(checkpoint: str) -> int:
    return int(checkpoint.removeprefix("step-"))
