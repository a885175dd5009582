"""Both halves in a row: raw pages in, a trained, evaluated and tracked model out."""

import time

from prefect import flow

from flows.pipeline_config import PipelineConfig
from flows.pretrain import pretrain
from flows.refresh import refresh
from flows.results import PipelineResult
from flows.runners import runner_for


@flow(name="pipeline", flow_run_name="pipeline {config.refresh.name}")
def pipeline(config: PipelineConfig) -> PipelineResult:
    """Make a data version, then train on it.

    Args:
        config: Settings of both halves.
    """
    began = time.monotonic()
    data = refresh.with_options(task_runner=runner_for(config.refresh.execution))(config.refresh)
    refreshed = time.monotonic()
    training = config.pretrain.model_copy(update={"data_version": data.version, "store": config.refresh.store})
    run = pretrain(training)
    seconds = {"refresh": refreshed - began, "pretrain": time.monotonic() - refreshed}
    return PipelineResult(refresh=data, pretrain=run, seconds=seconds)
