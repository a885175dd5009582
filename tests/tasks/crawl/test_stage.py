"""Choices of a crawl depend on names and sizes only."""

import tomllib

from hypothesis import given
from hypothesis import strategies as st

from tasks.crawl.stage import best_modules, dealt, in_order, reuse_toml, within


def test_named_distributions_come_first_and_others_by_name() -> None:
    assert in_order(["b", "z", "a", "y"], ["y", "missing", "z"]) == ["y", "z", "a", "b"]


def test_the_best_documented_modules_are_chosen_and_listed_by_name() -> None:
    assert best_modules({"c": 9, "a": 5, "b": 7, "d": 1}, 3, 6) == ["b", "c"]


@given(st.dictionaries(st.text(), st.integers(0, 100)), st.integers(0, 500))
def test_what_is_taken_stays_within_the_limit_and_nothing_left_over_would_fit_at_its_turn(
    sizes: dict[str, int], limit: int
) -> None:
    taken = within(sizes, limit)
    assert sum(sizes[name] for name in taken) <= limit
    assert [name for name in sizes if name in taken] == taken


@given(st.lists(st.integers()), st.integers(1, 9))
def test_dealing_loses_nothing_and_is_fair(items: list[int], hands: int) -> None:
    dealt_items = dealt(items, hands)
    assert sorted(item for hand in dealt_items for item in hand) == sorted(items)
    assert max(map(len, dealt_items), default=0) - min(map(len, dealt_items), default=0) <= 1


def test_reuse_toml_annotates_licensed_folders_only() -> None:
    parsed = tomllib.loads(reuse_toml({"b": "MIT", "a": "Apache-2.0", "c": ""}))
    assert parsed["version"] == 1
    assert parsed["annotations"] == [
        {"path": "a/**", "SPDX-License-Identifier": "Apache-2.0"},
        {"path": "b/**", "SPDX-License-Identifier": "MIT"},
    ]
