"""Settings of a training run and what follows from them: steps, accumulation, tokens, FLOPs, warnings. Pure.

What shapes the result is part of a run's identity; how it is laid out (ranks, micro-batch, ZeRO stage, offload, how
often to save and log) is not, so that a run can be continued on other hardware.
"""

import math
from dataclasses import dataclass
from typing import Literal, Self

from pydantic import Field, model_validator

from configs.base import Config, execution_field
from models.config import ModelConfig, flops_per_token, num_parameters
from tasks.core.errors import InputError
from tasks.core.manifest import Manifest
from tasks.train.schedule import DecayShape, Schedule, ScheduleName

VERSION = 1
Precision = Literal["bf16", "fp16", "fp32"]
_USUAL_RATES = (1e-4, 3e-4)


class OptimizerConfig(Config):
    """AdamW; weight decay never touches embeddings and norms."""

    beta1: float = Field(0.9, ge=0, lt=1, description="Decay of the mean of gradients.")
    beta2: float = Field(0.95, ge=0, lt=1, description="Decay of the mean of squared gradients.")
    epsilon: float = Field(1e-8, gt=0, le=1e-2, description="Added to the denominator of the update.")
    weight_decay: float = Field(0.1, ge=0, le=1, description="Decoupled weight decay of matrices.")
    gradient_clipping: float = Field(1.0, ge=0, le=1000, description="Largest gradient norm; 0: no clipping.")


class ScheduleConfig(Config):
    """How the learning rate rises and falls."""

    name: ScheduleName = Field("cosine", description="cosine, wsd (warm-up, stable, decay) or linear.")
    warmup_steps: int = Field(2000, ge=0, le=10_000_000, description="Steps of linear warm-up from 0.")
    floor: float = Field(0.0, ge=0, le=1, description="Share of the peak rate that is left at the last step.")
    decay_share: float = Field(0.1, gt=0, le=1, description="wsd: share of all steps that decay.")
    decay_shape: DecayShape = Field("linear", description="wsd: shape of the decay.")


class TrainConfig(Config):
    """One training run on one data version."""

    name: str = Field("run", pattern=r"^[a-z0-9][a-z0-9_.-]{0,60}$", description="Name of the run.")
    model: ModelConfig = Field(ModelConfig(), description="What is trained.")
    max_steps: int = Field(0, ge=0, le=100_000_000, description="Budget in steps; 0: given by max_tokens.")
    max_tokens: int = Field(0, ge=0, description="Budget in tokens, rounded up to whole steps; 0: max_steps.")
    max_epochs: float = Field(4.0, gt=0, le=1000, description="Refuse a budget that reads the data more often.")
    global_batch_size: int = Field(128, ge=1, le=1_000_000, description="Sequences of all ranks in one step.")
    learning_rate: float = Field(2e-4, gt=0, le=1, description="Peak learning rate.")
    schedule: ScheduleConfig = Field(ScheduleConfig(), description="Learning rate over the steps.")
    optimizer: OptimizerConfig = Field(OptimizerConfig(), description="AdamW.")
    precision: Precision = Field("bf16", description="bf16 (stable), fp16 (GPU, loss scaling) or fp32.")
    seed: int = Field(42, ge=0, lt=1 << 32, description="Seed of weights and of the order of later epochs.")
    micro_batch_size: int = execution_field(
        8, ge=1, le=65_536, description="Sequences one rank takes at once; accumulation follows."
    )
    num_ranks: int = execution_field(0, ge=0, le=1024, description="Processes; 0: one per GPU, or one without GPU.")
    zero_stage: int = execution_field(1, ge=0, le=3, description="What DeepSpeed shards over the ranks.")
    offload_optimizer: bool = execution_field(False, description="Keep optimizer state in CPU memory (needs g++).")
    save_steps: int = execution_field(2000, ge=1, description="Steps between checkpoints; the last step is saved too.")
    logging_steps: int = execution_field(50, ge=1, description="Steps between lines in the log; records have all.")
    keep_checkpoints: int = execution_field(
        3, ge=1, description="Newest to keep; evaluated and permanent ones stay in any case."
    )

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        if bool(self.max_steps) == bool(self.max_tokens):
            raise ValueError("give one of max_steps and max_tokens as the budget, and leave the other 0")
        if self.global_batch_size % self.micro_batch_size:
            raise ValueError(
                f"global_batch_size {self.global_batch_size} is no multiple of micro_batch_size {self.micro_batch_size}"
            )
        if self.precision != "fp32" and self.zero_stage == 0:
            raise ValueError(
                f"{self.precision} needs zero_stage 1 or more: at stage 0 DeepSpeed's half-precision optimizer does an "
                "update with empty gradients at its creation, which decays the weights; stage 1 is as good on one rank"
            )
        if self.offload_optimizer and self.zero_stage == 0:
            raise ValueError("offload_optimizer needs zero_stage 1 or more")
        return self


@dataclass(frozen=True, slots=True)
class DataFacts:
    """What training must know of a data version."""

    version: str
    num_rows: int
    num_tokens: int
    sequence_length: int
    vocab_size: int


def data_facts(manifest: Manifest) -> DataFacts:
    """Return what training must know of a data version."""
    return DataFacts(
        manifest.version,
        manifest.num_rows,
        manifest.num_tokens,
        manifest.sequence_length,
        manifest.tokenizer.vocab_size,
    )


@dataclass(frozen=True, slots=True)
class TrainingPlan:
    """Everything that follows from settings, data version and world size; logged once at the start."""

    num_steps: int
    world_size: int
    gradient_accumulation_steps: int
    tokens_per_micro_batch: int
    global_batch_tokens: int
    total_tokens: int
    epochs: float
    num_parameters: int
    flops_per_token: int
    total_flops: float
    warnings: tuple[str, ...]


def plan_training(config: TrainConfig, data: DataFacts, world_size: int) -> TrainingPlan:
    """Work out the numbers of a run.

    Raises:
        InputError: batches, budget and data do not fit together; with numbers that would.
    """
    per_pass = config.micro_batch_size * world_size
    if config.global_batch_size % per_pass:
        size = config.global_batch_size
        raise InputError(
            f"run {config.name}",
            f"global_batch_size {size} is not micro_batch_size {config.micro_batch_size} x accumulation x "
            f"{world_size} ranks",
            f"use global_batch_size {math.ceil(size / per_pass) * per_pass}, or another micro_batch_size",
        )
    batch_tokens = config.global_batch_size * data.sequence_length
    steps = config.max_steps or math.ceil(config.max_tokens / batch_tokens)
    _check_budget(config, data, steps)
    shape = config.model.shape
    flops = flops_per_token(shape, data.vocab_size, data.sequence_length)
    return TrainingPlan(
        num_steps=steps,
        world_size=world_size,
        gradient_accumulation_steps=config.global_batch_size // per_pass,
        tokens_per_micro_batch=config.micro_batch_size * data.sequence_length,
        global_batch_tokens=batch_tokens,
        total_tokens=steps * batch_tokens,
        epochs=steps * config.global_batch_size / data.num_rows,
        num_parameters=num_parameters(shape, data.vocab_size),
        flops_per_token=flops,
        total_flops=float(flops) * steps * batch_tokens,
        warnings=tuple(warnings_for(config)),
    )


def schedule_of(config: TrainConfig, num_steps: int) -> Schedule:
    """Return the learning-rate schedule of a run of ``num_steps``."""
    part = config.schedule
    decay = max(1, round(part.decay_share * num_steps))
    return Schedule(part.name, num_steps, part.warmup_steps, part.floor, decay, part.decay_shape)


def warnings_for(config: TrainConfig) -> list[str]:
    """Return what is allowed but unusual (R-4.2-4, R-4.2-12)."""
    low, high = _USUAL_RATES
    found = []
    if not low <= config.learning_rate <= high:
        found.append(f"learning_rate {config.learning_rate:g} is outside the usual {low:g} to {high:g}")
    if config.schedule.warmup_steps == 0:
        found.append("warmup_steps is 0: the loss may oscillate violently at the start")
    if config.optimizer.gradient_clipping == 0:
        found.append("gradient_clipping is 0: one bad batch can ruin the weights")
    return found


def check_device(config: TrainConfig, *, gpu: bool) -> None:
    """Refuse a precision that the device cannot train in.

    Raises:
        InputError: fp16 without a GPU.
    """
    if config.precision == "fp16" and not gpu:
        raise InputError(f"run {config.name}", "precision fp16 needs a GPU", "use precision bf16 or fp32 on a CPU")


def _check_budget(config: TrainConfig, data: DataFacts, steps: int) -> None:
    where = f"run {config.name}"
    if data.num_rows == 0:
        raise InputError(where, f"data version {data.version} has no training rows", "choose or build another version")
    most = int(config.max_epochs * data.num_rows / config.global_batch_size)
    if steps > most:
        epochs = steps * config.global_batch_size / data.num_rows
        raise InputError(
            where,
            f"{steps} steps read the {data.num_rows} rows of {data.version} {epochs:.2f} times, max_epochs is "
            f"{config.max_epochs:g}",
            f"use at most {most} steps, a smaller global_batch_size, more data, or raise max_epochs",
        )
    used = config.schedule.warmup_steps + (config.schedule.decay_share * steps if config.schedule.name == "wsd" else 0)
    if used >= steps + (config.schedule.name == "wsd"):
        raise InputError(
            where,
            f"warm-up and decay take {used:g} of {steps} steps",
            f"lower schedule.warmup_steps (now {config.schedule.warmup_steps}) or raise the budget",
        )
