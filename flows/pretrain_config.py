"""Settings of the training half: which data version, and how to train on it."""

from pydantic import Field

from configs.base import Config, execution_field
from tasks.train.stage import TrainConfig


class PretrainConfig(Config):
    """A training run: the data it reads and everything that shapes its losses."""

    data_version: str = Field(
        "", description="Name of the data version, as `glassworks versions` shows it; empty: the newest in the store."
    )
    train: TrainConfig = Field(title="Training", description="Model, budget, optimizer, checkpoints.")
    store: str = execution_field("", description="Root of the store; empty: GLASSWORKS_STORE, else ./store.")
