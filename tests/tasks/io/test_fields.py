"""Foreign values."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.io.fields import plain_text, utc_time

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2026-01-02T12:00:00Z", NOON),
        ("2026-01-02T13:00:00+01:00", NOON),
        ("2026-01-02 12:00", NOON),
        (NOON.timestamp(), NOON),
        (NOON.replace(tzinfo=None), NOON),
        ("yesterday", None),
        ("0001-01-01T00:00:00+23:00", None),
        (float("nan"), None),
        (10**30, None),
        (True, None),
        (None, None),
        ([], None),
    ],
)
def test_times_become_utc_or_none(value: object, expected: datetime | None) -> None:
    assert utc_time(value) == expected


@given(st.one_of(st.text(), st.integers(), st.floats(), st.none()))
def test_any_value_becomes_text_that_can_be_encoded(value: object) -> None:
    plain_text(value).encode()
    utc_time(value)


def test_lone_surrogates_are_replaced_and_numbers_are_written_out() -> None:
    assert plain_text("a\ud800b") == "a\ufffdb"
    assert plain_text(12) == "12"
    assert plain_text(None) == plain_text(True) == ""
