"""Mixing: shares of tokens, exact by largest remainder, impossible mixes refused with numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.core.errors import MixError
from tasks.mix.stage import MixConfig, choose_documents, is_validation, largest_remainder, normalised, plan_mix

PRESET = {"web": 65, "books": 12.5, "code": 15, "reference": 7.5}


def test_r_3_3_5_weights_are_normalised() -> None:
    low = normalised({"web": 60, "books": 10, "code": 10, "reference": 5})
    assert [round(low[name], 6) for name in ("web", "books", "code", "reference")] == [
        0.705882,
        0.117647,
        0.117647,
        0.058824,
    ]
    high = normalised({"web": 70, "books": 15, "code": 20, "reference": 10})
    assert [round(high[name], 6) for name in ("web", "books", "code", "reference")] == [
        0.608696,
        0.130435,
        0.173913,
        0.086957,
    ]
    assert sum(PRESET.values()) == 100


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=8), st.integers(0, 10**12))
def test_parts_sum_to_the_total_and_are_within_one_of_exact(weights: list[float], total: int) -> None:
    shares = normalised({str(index): weight for index, weight in enumerate(weights)})
    parts = largest_remainder(shares, total)
    assert sum(parts.values()) == total
    assert all(abs(parts[name] - shares[name] * total) <= 1 + total * 1e-12 for name in shares)


def test_a_mix_without_a_budget_takes_what_the_scarcest_source_allows() -> None:
    available = {"web": 10_000_000, "books": 100_000, "code": 10_000_000, "reference": 10_000_000}
    plans = {plan.source: plan for plan in plan_mix(PRESET, available, MixConfig(max_epochs=4))}
    assert sum(plan.tokens_asked for plan in plans.values()) == 3_200_000  # 4 * 100,000 / 0.125
    assert plans["books"].epochs == 4.0
    assert plans["web"].tokens_asked == 2_080_000


def test_an_impossible_mix_names_the_source_and_the_ways_out_with_numbers() -> None:
    available = {"web": 10_000_000, "books": 100_000, "code": 10_000_000, "reference": 10_000_000}
    with pytest.raises(MixError) as caught:
        plan_mix(PRESET, available, MixConfig(num_tokens=10_000_000, max_epochs=4))
    text = str(caught.value)
    assert "source books: 12.5% of 10,000,000 tokens is 1,250,000, but it has 100,000 (12.50 epochs" in text
    assert "at most 3,200,000" in text
    assert "max_epochs to 12.50" in text
    assert "share to 4.00%" in text


def test_the_ways_out_of_an_impossible_mix_work() -> None:
    available = {"web": 10_000_000, "books": 100_000}
    weights = {"web": 1.0, "books": 1.0}
    assert plan_mix(weights, available, MixConfig(num_tokens=800_000, max_epochs=4))
    assert plan_mix(weights, available, MixConfig(num_tokens=1_000_000, max_epochs=5))
    with pytest.raises(MixError):
        plan_mix(weights, available, MixConfig(num_tokens=800_002, max_epochs=4))


def test_a_source_without_tokens_is_an_error_that_names_it() -> None:
    with pytest.raises(MixError, match=r"source code: no training document is left"):
        plan_mix({"web": 1, "code": 1}, {"web": 100, "code": 0}, MixConfig())


SIZES = st.lists(st.integers(1, 500), min_size=1, max_size=60)


@given(SIZES, st.floats(0.01, 5))
def test_chosen_tokens_come_as_close_as_one_more_or_one_less_document_allows(sizes: list[int], epochs: float) -> None:
    documents = [(index.to_bytes(16, "big"), size) for index, size in enumerate(sizes)]
    asked = int(sum(sizes) * epochs)
    repeats = choose_documents("web", documents, asked, seed=1)
    taken = sum(size * repeats.get(doc_id, 0) for doc_id, size in documents)
    whole = asked // sum(sizes)
    assert all(whole <= repeats.get(doc_id, 0) <= whole + 1 for doc_id, _ in documents)
    left_out = [size for doc_id, size in documents if repeats.get(doc_id, 0) == whole]
    assert all(abs(taken + size - asked) >= abs(taken - asked) for size in left_out)


def test_a_source_of_long_documents_is_not_left_out() -> None:
    books = [(b"a" * 16, 10_000), (b"b" * 16, 12_000)]
    assert choose_documents("books", books, 7_500, seed=1) == {b"a" * 16: 1}
    assert choose_documents("books", books, 4_000, seed=1) == {}


@given(SIZES, st.randoms(use_true_random=False))
def test_the_choice_does_not_depend_on_the_order_of_documents(sizes: list[int], random: object) -> None:
    documents = [(index.to_bytes(16, "big"), size) for index, size in enumerate(sizes)]
    shuffled = list(documents)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    asked = sum(sizes) // 2
    assert choose_documents("web", documents, asked, 1) == choose_documents("web", shuffled, asked, 1)


def test_validation_is_the_asked_share_and_a_larger_share_contains_the_smaller() -> None:
    ids = [index.to_bytes(16, "big") for index in range(20_000)]
    small = {item for item in ids if is_validation(42, "web", item, 0.02)}
    large = {item for item in ids if is_validation(42, "web", item, 0.05)}
    assert small < large
    assert abs(len(small) - 400) < 4 * (20_000 * 0.02 * 0.98) ** 0.5
