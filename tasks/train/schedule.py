"""The learning rate as a function of the step: pure, so that a resumed run has the rate of an undisturbed one.

The multiplier belongs to a step's number: step 1 is the first update, step ``total`` the last. Warm-up is linear
from 0, so step 0 (no update) has 0.
"""

import math
from dataclasses import dataclass
from typing import Literal

ScheduleName = Literal["cosine", "wsd", "linear"]
DecayShape = Literal["linear", "cosine"]


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule with all its numbers: lengths in steps, ``floor`` as a share of the peak."""

    name: ScheduleName
    total: int
    warmup: int
    floor: float = 0.0
    decay: int = 0
    decay_shape: DecayShape = "linear"

    def multiplier(self, step: int) -> float:
        """Return the share of the peak learning rate that ``step`` is run with."""
        if step < self.warmup:
            return step / self.warmup
        if self.name == "wsd":
            begin = self.total - self.decay
            progress = (step - begin) / self.decay if step > begin else 0.0
            shape = self.decay_shape
        else:
            progress = (step - self.warmup) / (self.total - self.warmup)
            shape = "cosine" if self.name == "cosine" else "linear"
        return self.floor + (1 - self.floor) * _remaining(shape, min(progress, 1.0))

    def phase(self, step: int) -> str:
        """Return where in the schedule a step is: warm-up, stable or decay."""
        if step < self.warmup:
            return "warm-up"
        return "stable" if self.name == "wsd" and step <= self.total - self.decay else "decay"


def _remaining(shape: str, progress: float) -> float:
    return 0.5 * (1 + math.cos(math.pi * progress)) if shape == "cosine" else 1 - progress
