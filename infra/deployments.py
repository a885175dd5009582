"""One Prefect deployment per YAML preset, so that a flow can be started from the UI: ``python -m infra.deployments``.

The form opens filled with what the YAML and the defaults say. Flows run as processes of this one, one at a time for
training, from the root of the checkout. PREFECT_API_URL says which server; `glassworks ui` starts one.
"""

from pathlib import Path
from typing import Any

from prefect import Flow, serve
from prefect.deployments.runner import RunnerDeployment
from prefect.types.entrypoint import EntrypointType

from configs.base import Config
from flows.pipeline import pipeline
from flows.pipeline_config import PipelineConfig
from flows.pretrain import pretrain
from flows.pretrain_config import PretrainConfig
from flows.refresh import refresh
from flows.refresh_config import RefreshConfig

_PRESETS = Path(__file__).parents[1] / "configs"
_FLOWS: dict[str, tuple[Flow[..., Any], type[Config]]] = {
    "refresh": (refresh, RefreshConfig),
    "pretrain": (pretrain, PretrainConfig),
    "pipeline": (pipeline, PipelineConfig),
}


def deployments() -> list[RunnerDeployment]:
    """Return a deployment for each preset.

    Raises:
        ConfigFileError: a preset is not valid.
    """
    return [
        _deployment(flow, model, file)
        for name, (flow, model) in _FLOWS.items()
        for file in sorted((_PRESETS / name).glob("*.yaml"))
    ]


def _deployment(flow: Flow[..., Any], model: type[Config], file: Path) -> RunnerDeployment:
    config = model.from_yaml(file)
    first_line = file.read_text(encoding="utf-8").partition("\n")[0].removeprefix("#").strip()
    deployment = flow.to_deployment(
        name=file.stem,
        parameters={"config": config.model_dump(mode="json")},
        description=first_line,
        tags=["glassworks"],
        concurrency_limit=1,
        entrypoint_type=EntrypointType.MODULE_PATH,
    )
    assert isinstance(deployment, RunnerDeployment)  # noqa: S101 - a coroutine only inside an event loop
    return deployment


if __name__ == "__main__":
    serve(*deployments())
