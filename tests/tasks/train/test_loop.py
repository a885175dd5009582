"""The loop on an engine of plain torch: losses over tokens, what is recorded, stopping, non-finite losses."""

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch.nn import functional

from tasks.train.loop import NonFiniteLossError, StepData, Trackers, train
from tasks.train.schedule import Schedule

SCHEDULE = Schedule("linear", 5, 1)


class Part:
    """Inputs and targets of some positions; parts differ in how many they have."""

    def __init__(self, inputs: torch.Tensor, targets: torch.Tensor) -> None:
        self.inputs, self.targets = inputs, targets
        self.num_targets = len(targets)


class PlainEngine:
    """One rank, averaging over micro-batches as DeepSpeed does."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.model = torch.nn.Linear(4, 3)
        self.micros = 0

    def reduce_sum(self, values: Sequence[float]) -> list[float]:
        return [float(value) for value in values]

    def train_micro(self, batch: Part, scale: float) -> float:
        nll = functional.cross_entropy(self.model(batch.inputs), batch.targets, reduction="sum")
        (nll * scale).backward()
        self.micros += 1
        return float(nll.detach())

    def update(self, learning_rate: float) -> tuple[float, bool]:
        gradients = [parameter.grad / self.micros for parameter in self.model.parameters()]
        for parameter, gradient in zip(self.model.parameters(), gradients, strict=True):
            parameter.data -= learning_rate * gradient
        self.model.zero_grad()
        self.micros = 0
        return float(torch.nn.utils.get_total_norm(gradients)), True


def steps(cuts: list[int], bad: int = -1) -> Any:
    generator = torch.Generator().manual_seed(1)
    for number in range(5):
        inputs = torch.randn(10, 4, generator=generator)
        targets = torch.randint(0, 3, (10,), generator=generator)
        if number == bad:
            inputs[3] = float("nan")
        parts = [Part(a, b) for a, b in zip(inputs.split(cuts), targets.split(cuts), strict=True)]
        yield StepData(parts, 10, 0.0, {"epoch": 0})


def run(cuts: list[int], stop_after: int = 99, bad: int = -1) -> tuple[bool, list[dict[str, Any]], Trackers]:
    records: list[dict[str, Any]] = []
    trackers = Trackers()
    finished = train(
        PlainEngine(), steps(cuts, bad), SCHEDULE, 0.5, trackers, records.append, lambda: len(records) >= stop_after
    )
    return finished, records, trackers


def test_the_loss_does_not_depend_on_how_unequal_the_micro_batches_are() -> None:
    whole, uneven = run([10])[1], run([1, 7, 2])[1]
    assert [item["loss"] for item in uneven] == pytest.approx([item["loss"] for item in whole], abs=1e-6)
    assert [item["grad_norm"] for item in uneven] == pytest.approx([item["grad_norm"] for item in whole], abs=1e-6)


def test_r_4_4_5_the_recorded_step_and_rate_are_those_of_the_update() -> None:
    records = run([10])[1]
    assert [item["step"] for item in records] == [1, 2, 3, 4, 5]
    assert [item["lr"] for item in records] == pytest.approx([0.5 * SCHEDULE.multiplier(s) for s in range(1, 6)])
    assert [item["tokens"] for item in records] == [10, 20, 30, 40, 50]


def test_r_4_4_4_the_smoothed_loss_starts_at_the_loss_and_follows_it() -> None:
    records = run([10])[1]
    assert records[0]["smoothed_loss"] == pytest.approx(records[0]["loss"])
    expected = (0.98 * records[0]["loss"] + records[1]["loss"]) / 1.98
    assert records[1]["smoothed_loss"] == pytest.approx(expected)


def test_a_stop_asked_for_ends_after_the_step_in_hand() -> None:
    finished, records, trackers = run([10], stop_after=2)
    assert not finished
    assert trackers.step == len(records) == 3


def test_a_non_finite_loss_stops_before_the_update_is_made_or_counted() -> None:
    with pytest.raises(NonFiniteLossError, match="step 3"):
        run([10], bad=2)


def test_a_batch_without_targets_is_reported_not_divided_by() -> None:
    empty = StepData([Part(torch.zeros(0, 4), torch.zeros(0, dtype=torch.long))], 0, 0.0)
    with pytest.raises(NonFiniteLossError):
        train(PlainEngine(), iter([empty]), SCHEDULE, 0.1, Trackers(), lambda _: None, lambda: False)
