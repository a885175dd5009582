"""Settings of both halves."""

from pydantic import Field

from configs.base import Config
from flows.pretrain_config import PretrainConfig
from flows.refresh_config import RefreshConfig


class PipelineConfig(Config):
    """A data version, and the run that trains on it."""

    refresh: RefreshConfig = Field(title="Data", description="Sources to data version.")
    pretrain: PretrainConfig = Field(
        title="Training", description="Data version to run; its data version is the one made here."
    )
