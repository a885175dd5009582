"""The training loop, against a small :class:`Engine`: it knows steps, losses and stopping, not DeepSpeed or files.

The loss of a step is Σ nll / Σ targets over the global batch, whatever the micro-batches and ranks. Decisions (stop,
non-finite) are made from values reduced over all ranks, so every rank takes the same one at the same step.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from tasks.train.schedule import Schedule

_SMOOTHING = 0.98


class Micro(Protocol):
    """A micro-batch on its device."""

    @property
    def num_targets(self) -> int:
        """Positions that count in the loss."""


class Engine(Protocol):
    """What the loop needs of a distributed trainer."""

    def reduce_sum(self, values: Sequence[float]) -> list[float]:
        """Add up numbers over all ranks, in double precision."""

    def train_micro(self, batch: Any, scale: float) -> float:  # noqa: ANN401 - the engine's own batch type
        """Forward and backward of ``scale`` x summed nll; return this rank's summed nll."""

    def update(self, learning_rate: float) -> tuple[float, bool]:
        """Do the optimizer step; return the global gradient norm, and whether the step was applied."""


@dataclass(slots=True)
class Trackers:
    """What the loop carries from step to step, and a checkpoint must hold."""

    step: int = 0
    tokens: int = 0
    targets: int = 0
    skipped_steps: int = 0
    first_loss: float = 0.0
    last_loss: float = 0.0
    smoothing_sum: float = 0.0
    smoothing_weight: float = 0.0

    def add(self, loss: float) -> float:
        """Take in a step's loss and return the smoothed one (moving average, corrected for its start)."""
        if self.step == 0:
            self.first_loss = loss
        self.last_loss = loss
        self.smoothing_sum = _SMOOTHING * self.smoothing_sum + (1 - _SMOOTHING) * loss
        self.smoothing_weight = _SMOOTHING * self.smoothing_weight + (1 - _SMOOTHING)
        return self.smoothing_sum / self.smoothing_weight


class NonFiniteLossError(RuntimeError):
    """The loss of a step is NaN or infinite; nothing was updated."""

    def __init__(self, step: int, loss: float) -> None:
        super().__init__(f"loss of step {step} is {loss}")
        self.step = step
        self.loss = loss


@dataclass(frozen=True, slots=True)
class StepData:
    """What one step trains on, on this rank: micro-batches, real tokens in them, and how long reading made us wait."""

    micro_batches: Sequence[Micro]
    num_tokens: int
    wait_seconds: float
    facts: dict[str, Any] = field(default_factory=dict)


def train(
    engine: Engine,
    batches: Iterator[StepData],
    schedule: Schedule,
    learning_rate: float,
    trackers: Trackers,
    on_step: Callable[[dict[str, Any]], None],
    stop_asked: Callable[[], bool],
) -> bool:
    """Train until the schedule's end; return False when stopped before it. ``on_step`` gets each step's record.

    Raises:
        NonFiniteLossError: on all ranks alike, before the update.
    """
    while trackers.step < schedule.total:
        began = time.perf_counter()
        record, stop = _one_step(engine, next(batches), schedule, learning_rate, trackers, stop_asked)
        seconds = time.perf_counter() - began
        record |= {"step_seconds": seconds, "tokens_per_second": record["step_tokens"] / seconds}
        on_step(record)
        if stop and trackers.step < schedule.total:
            return False
    return True


def _one_step(
    engine: Engine,
    data: StepData,
    schedule: Schedule,
    learning_rate: float,
    trackers: Trackers,
    stop_asked: Callable[[], bool],
) -> tuple[dict[str, Any], bool]:
    step = trackers.step + 1
    targets = sum(batch.num_targets for batch in data.micro_batches)
    num_targets, num_tokens, ranks, stop = engine.reduce_sum([targets, data.num_tokens, 1, stop_asked()])
    if not num_targets:
        raise NonFiniteLossError(step, math.nan)  # a mean over nothing
    # The engine averages over micro-batches and ranks; this factor turns the two means into one sum over targets.
    scale = len(data.micro_batches) * ranks / num_targets
    nll = sum(engine.train_micro(batch, scale) for batch in data.micro_batches)
    loss = engine.reduce_sum([nll])[0] / num_targets
    if not math.isfinite(loss):
        raise NonFiniteLossError(step, loss)
    rate = learning_rate * schedule.multiplier(step)
    grad_norm, applied = engine.update(rate)
    smoothed = trackers.add(loss)
    trackers.step = step
    trackers.tokens += int(num_tokens)
    trackers.targets += int(num_targets)
    trackers.skipped_steps += not applied
    record = {
        "step": step,
        "loss": loss,
        "smoothed_loss": smoothed,
        "lr": rate,
        "phase": schedule.phase(step),
        "grad_norm": grad_norm,
        "tokens": trackers.tokens,
        "step_tokens": int(num_tokens),
        "skipped_steps": trackers.skipped_steps,
        "data_wait_seconds": data.wait_seconds,
        **data.facts,
    }
    return record, stop > 0
