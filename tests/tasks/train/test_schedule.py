"""Learning-rate multipliers against the worked table (REFERENCE C 4.3)."""

import pytest

from tasks.train.schedule import Schedule

COSINE = Schedule("cosine", 50_000, 2000)
FLOORED = Schedule("cosine", 50_000, 2000, floor=0.1)
WSD = Schedule("wsd", 50_000, 2000, decay=5000)
WSD_COSINE = Schedule("wsd", 50_000, 2000, decay=5000, decay_shape="cosine")
TABLE = [
    (0, 0, 0, 0, 0),
    (1, 0.0005, 0.0005, 0.0005, 0.0005),
    (1000, 0.5, 0.5, 0.5, 0.5),
    (2000, 1, 1, 1, 1),
    (14_000, 0.8535534, 0.8681981, 1, 1),
    (26_000, 0.5, 0.55, 1, 1),
    (38_000, 0.1464466, 0.2318019, 1, 1),
    (45_000, 0.0265349, 0.1238814, 1, 1),
    (46_250, None, None, 0.75, 0.8535534),
    (47_500, None, None, 0.5, 0.5),
    (48_750, None, None, 0.25, 0.1464466),
    (50_000, 0, 0.1, 0, 0),
]


@pytest.mark.parametrize("row", TABLE, ids=lambda row: str(row[0]))
def test_multipliers_equal_the_table(row: tuple[float, ...]) -> None:
    step, *expected = row
    for schedule, value in zip((COSINE, FLOORED, WSD, WSD_COSINE), expected, strict=True):
        if value is not None:
            assert schedule.multiplier(int(step)) == pytest.approx(value, abs=5e-8)


def test_linear_falls_by_the_same_amount_each_step() -> None:
    schedule = Schedule("linear", 110, 10, floor=0.2)
    assert [schedule.multiplier(step) for step in (10, 60, 110)] == pytest.approx([1, 0.6, 0.2])


def test_r_4_2_5_the_rate_at_step_1000_of_2000_is_half_the_peak() -> None:
    assert 2e-4 * COSINE.multiplier(1000) == pytest.approx(1e-4)


def test_without_warm_up_the_first_step_has_nearly_the_full_rate() -> None:
    assert Schedule("cosine", 1000, 0).multiplier(1) == pytest.approx(1, abs=1e-5)


def test_phases_are_named() -> None:
    assert [WSD.phase(step) for step in (1999, 2000, 45_000, 45_001)] == ["warm-up", "stable", "stable", "decay"]
    assert COSINE.phase(2000) == "decay"
