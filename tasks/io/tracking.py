"""MLflow, for what both halves share, and the record of a refresh.

MLflow is a view: what happened is in the store, and can be sent again without harm. Importing MLflow costs 2 to 3
s, so it is imported when a run is tracked, not before. Cost of a refresh run: under a second, plus as much
once for a new database.
"""

import json
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tasks.core.manifest import Manifest

REFRESH_EXPERIMENT = "glassworks-refresh"
PRETRAIN_EXPERIMENT = "glassworks-pretrain"
MOST_PARAM_CHARACTERS = 500
MOST_DIGEST_CHARACTERS = 36
BATCH = 500
_SQLITE = "sqlite:///"


@dataclass(frozen=True, slots=True)
class DataRecord:
    """A data version as MLflow shows it: its name, fingerprint, where its manifest is, and its size."""

    version: str
    fingerprint: str
    manifest_url: str
    num_rows: int
    num_tokens: int

    @property
    def digest(self) -> str:
        """The fingerprint, as much of it as MLflow takes."""
        return self.fingerprint[:MOST_DIGEST_CHARACTERS]


class Tracker:
    """Sends refreshes to one tracking server or database."""

    def __init__(self, tracking_uri: str) -> None:
        self._uri = tracking_uri

    def log_refresh(self, manifest: Manifest, tags: Mapping[str, str]) -> str:
        """Record how a data version came to be; return the MLflow run id. A version has one finished run."""
        client = connect(self._uri)
        experiment = experiment_id(client, self._uri, REFRESH_EXPERIMENT)
        same = client.search_runs([experiment], f"tags.`glassworks.data_version` = '{manifest.version}'")
        for run in same:
            if run.info.status == "FINISHED":
                return str(run.info.run_id)
            client.set_terminated(run.info.run_id, "KILLED")  # its process died while it was being sent
        all_tags = {
            **tags,
            "mlflow.source.name": "glassworks refresh",
            "mlflow.note.content": f"Data version `{manifest.version}`: {manifest.num_tokens:,} tokens to train on.",
            "glassworks.data_version": manifest.version,
            "glassworks.fingerprint": manifest.fingerprint,
            "glassworks.commit": str(manifest.code.get("commit", "")),
        }
        run_id = str(client.create_run(experiment, run_name=manifest.version, tags=all_tags).info.run_id)
        log_params(client, run_id, {**flat_params(manifest.config), "data_version": manifest.version})
        log_metrics(client, run_id, [(name, value, 0, _now()) for name, value in refresh_metrics(manifest)])
        client.log_text(run_id, yaml.safe_dump(manifest.config, sort_keys=False, allow_unicode=True), "config.yaml")
        client.log_text(run_id, manifest.model_dump_json(indent=2), "manifest.json")
        client.log_text(run_id, json.dumps(funnel_table(manifest)), "funnel.json")
        client.set_tag(run_id, "mlflow.loggedArtifacts", json.dumps([{"path": "funnel.json", "type": "table"}]))
        client.set_terminated(run_id, "FINISHED")
        return run_id


def connect(tracking_uri: str) -> Any:  # noqa: ANN401 - MlflowClient, which is imported late
    """Return a client of this server or database."""
    from mlflow import MlflowClient

    if tracking_uri.startswith(_SQLITE):  # SQLite makes the file, not its folder
        Path(tracking_uri.removeprefix(_SQLITE)).parent.mkdir(parents=True, exist_ok=True)
    return MlflowClient(tracking_uri)


def experiment_id(client: Any, tracking_uri: str, name: str) -> str:  # noqa: ANN401
    """Return the experiment's id, making it if needed; beside a database, artifacts lie in ``mlflow-artifacts``."""
    from mlflow.exceptions import MlflowException

    if found := client.get_experiment_by_name(name):
        return str(found.experiment_id)
    location = None
    if tracking_uri.startswith(_SQLITE):
        location = (Path(tracking_uri.removeprefix(_SQLITE)).parent / "mlflow-artifacts" / name).absolute().as_uri()
    try:
        return str(client.create_experiment(name, artifact_location=location))
    except MlflowException:
        if found := client.get_experiment_by_name(name):  # another process was faster
            return str(found.experiment_id)
        raise


def run_exists(client: Any, run_id: str) -> bool:  # noqa: ANN401
    """Tell whether the server or database has a run; a database that was made anew has not."""
    from mlflow.exceptions import MlflowException

    try:
        return bool(client.get_run(run_id).info.lifecycle_stage == "active")
    except MlflowException as error:
        if error.error_code == "RESOURCE_DOES_NOT_EXIST":
            return False  # the database was made anew
        raise


def log_params(client: Any, run_id: str, params: Mapping[str, str]) -> None:  # noqa: ANN401
    """Log params that are not there yet; one that has changed since (of a resumed run) becomes a tag."""
    from mlflow.entities import Param, RunTag

    present = client.get_run(run_id).data.params
    new = [Param(name, value) for name, value in params.items() if name not in present]
    changed = [RunTag(f"changed.{name}", value) for name, value in params.items() if present.get(name, value) != value]
    for start in range(0, len(new), 100):
        client.log_batch(run_id, params=new[start : start + 100])
    if changed:
        client.log_batch(run_id, tags=changed)


def log_metrics(
    client: Any,  # noqa: ANN401
    run_id: str,
    values: list[tuple[str, float, int, int]],
    **model_and_dataset: str,
) -> None:
    """Log (name, value, step, milliseconds); rows that are there already are not doubled."""
    from mlflow.entities import Metric

    metrics = [
        Metric(metric_name(name), float(value), milliseconds, step, **model_and_dataset)
        for name, value, step, milliseconds in values
    ]
    for start in range(0, len(metrics), BATCH):
        client.log_batch(run_id, metrics=metrics[start : start + BATCH])


def dataset_input(data: DataRecord) -> Any:  # noqa: ANN401
    """Return a data version as the input of a run, found again through its manifest."""
    from mlflow.entities import Dataset, DatasetInput, InputTag
    from mlflow.types.schema import Array, ColSpec, DataType, Schema

    schema = Schema([ColSpec(Array(DataType.integer), "input_ids"), ColSpec(DataType.integer, "num_tokens")])
    scheme = data.manifest_url.partition("://")[0] if "://" in data.manifest_url else "file"
    dataset = Dataset(
        name=data.version,
        digest=data.digest,
        source_type="local" if scheme == "file" else scheme,
        source=json.dumps({"uri": data.manifest_url}),
        schema=json.dumps({"mlflow_colspec": schema.to_dict()}),
        profile=json.dumps({"num_rows": data.num_rows, "num_tokens": data.num_tokens}),
    )
    return DatasetInput(dataset, [InputTag("mlflow.data.context", "training")])


def flat_params(config: Mapping[str, Any]) -> dict[str, str]:
    """Return every value by its path, cut to what is readable; list items go by their ``name`` where they have one."""
    return {
        path: text if len(text) <= MOST_PARAM_CHARACTERS else text[: MOST_PARAM_CHARACTERS - 1] + "…"
        for path, value in _flat("", config)
        for text in [value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)]
    }


def metric_name(name: str) -> str:
    """Return a name with only the characters that MLflow takes."""
    return re.sub(r"[^\w\-. /]", "_", name)


def refresh_metrics(manifest: Manifest) -> Iterator[tuple[str, float]]:
    """Yield the funnel, the mix and the sizes of a data version."""
    for source, stages in manifest.funnel.items():
        for stage, counts in stages.items():
            prefix = f"funnel/{source}/{stage}"
            yield f"{prefix}/seen", counts.seen
            yield f"{prefix}/kept", counts.kept
            for reason, number in counts.dropped.items():
                yield f"{prefix}/dropped/{reason}", number
    for mix in manifest.mix:
        for name in ("tokens_available", "tokens_asked", "tokens_realised", "share_realised", "epochs"):
            yield f"mix/{mix.source}/{name}", getattr(mix, name)
    for held_out in manifest.validation:
        yield f"validation/{held_out.source}/num_tokens", held_out.num_tokens
    yield "num_rows", manifest.num_rows
    yield "num_tokens", manifest.num_tokens


def funnel_table(manifest: Manifest) -> dict[str, list[Any]]:
    """Return the funnel as MLflow's tables are: a row per source, stage and reason (empty reason: kept)."""
    rows = [
        [source, stage, "dropped" if reason else "kept", reason, number]
        for source, stages in manifest.funnel.items()
        for stage, counts in stages.items()
        for reason, number in {"": counts.kept, **counts.dropped}.items()
    ]
    return {"columns": ["source", "stage", "outcome", "reason", "documents"], "data": rows}


def _flat(path: str, value: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401
    if isinstance(value, Mapping) and value:
        for key, item in value.items():
            yield from _flat(f"{path}.{key}" if path else str(key), item)
    elif isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
        for number, item in enumerate(value):
            yield from _flat(f"{path}.{item.get('name', number)}", item)
    else:
        yield path, value


def _now() -> int:
    return int(time.time() * 1000)
