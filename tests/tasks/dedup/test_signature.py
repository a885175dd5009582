"""Signatures: what is normalised away, what a shingle is, and equality with datasketch."""

import subprocess
import sys
from datetime import UTC, datetime

import numpy as np
import pytest
from datasketch import MinHash
from hypothesis import given
from hypothesis import strategies as st

from tasks.core.words import split_words
from tasks.dedup.signature import exact_hash, minhash, normalised, order_key, shingles_of


def jaccard(one: str, other: str, num_words: int = 5, num_characters: int = 5) -> float:
    left, right = (set(shingles_of(normalised(text), num_words, num_characters).tolist()) for text in (one, other))
    return len(left & right) / len(left | right)


def test_case_white_space_and_composition_are_normalised_away_and_punctuation_is_not() -> None:
    assert normalised(" A\tStra\u00dfe\n\n cafe\u0301 ") == "a strasse caf\u00e9"
    assert exact_hash(normalised("One  text.")) == exact_hash(normalised("one text.\n"))
    assert exact_hash(normalised("one text.")) != exact_hash(normalised("one text"))


@given(st.text())
def test_normalising_twice_changes_nothing_and_nothing_raises(text: str) -> None:
    assert normalised(normalised(text)) == normalised(text)
    exact_hash(text)


@given(st.lists(st.sampled_from(["a", "b", "c"]), max_size=30), st.integers(1, 6))
def test_word_shingles_are_as_many_as_the_distinct_runs_of_words(words: list[str], size: int) -> None:
    shorter = min(size, len(words))
    runs = {tuple(words[start : start + size]) for start in range(len(words) - shorter + 1)} if words else set()
    found = shingles_of(" ".join(words), size, 5)
    assert len(found) == len(runs)
    assert np.all(found[1:] > found[:-1])


@given(
    st.lists(st.sampled_from(["x", "y"]), min_size=1, max_size=25), st.lists(st.sampled_from(["x", "y"]), min_size=1)
)
def test_similarity_is_the_true_jaccard_similarity_of_the_runs(one: list[str], other: list[str]) -> None:
    def runs(words: list[str]) -> set[tuple[str, ...]]:
        return {tuple(words[start : start + 5]) for start in range(max(1, len(words) - 4))}

    expected = len(runs(one) & runs(other)) / len(runs(one) | runs(other))
    assert jaccard(" ".join(one), " ".join(other)) == pytest.approx(expected)


def test_a_text_shorter_than_a_shingle_is_one_shingle_and_no_words_are_none() -> None:
    assert len(shingles_of("only three words", 5, 5)) == 1
    assert len(shingles_of("", 5, 5)) == 0
    assert len(shingles_of("… — !!", 5, 5)) == 0


def test_b33_texts_that_are_not_latin_have_shingles_of_their_own() -> None:
    near = (
        "村里请了邻县的人来帮忙摘苹果晚上大家一起在晒谷场吃饭",
        "村里请了邻县的人来帮忙摘梨子晚上大家一起在晒谷场吃饭",
    )
    length = len(near[0])
    assert jaccard(*near) == pytest.approx((length - 4 - 6) / (length - 4 + 6))
    assert jaccard("يعمل الخباز في الحارة القديمة منذ", "سافر الطلاب إلى الجبل لدراسة الصخور") == 0
    assert len(split_words("يعمل الخباز في الحارة")) == 4


@pytest.mark.parametrize("count", [0, 1, 5, 4095, 4097, 9000])
def test_values_equal_those_of_datasketch(count: int) -> None:
    shingles = np.unique(np.random.default_rng(count).integers(0, 1 << 64, count, np.uint64))
    oracle = MinHash(num_perm=112, seed=7, scheme="affine32", hashfunc=lambda value: value)
    oracle.update_batch((shingles >> np.uint64(32)).tolist())
    assert np.array_equal(minhash(shingles, 112, 7), oracle.hashvalues)


def test_the_estimate_is_unbiased_with_the_spread_of_theory() -> None:
    random = np.random.default_rng(11)
    errors = []
    for _ in range(300):  # similarity 0.8: sets share 80 of 100
        pool = random.integers(0, 1 << 64, 100, np.uint64)
        one, other = minhash(np.sort(pool[:90]), 112, 1), minhash(np.sort(pool[10:]), 112, 1)
        errors.append(np.mean(one == other) - 0.8)
    assert abs(np.mean(errors)) < 4 * 0.0378 / np.sqrt(300)
    assert 0.030 < np.std(errors) < 0.046


def test_age_sorts_dated_before_undated_and_then_by_id() -> None:
    early, late = datetime(1969, 7, 20, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)
    keys = [order_key(when, name * 16) for when, name in [(early, b"z"), (late, b"a"), (late, b"b"), (None, b"a")]]
    assert keys == sorted(keys)
    assert {len(key) for key in keys} == {24}


def test_b43_signatures_do_not_depend_on_the_process() -> None:
    text = normalised("The same united words, in every process at all times.")
    here = exact_hash(text) + minhash(shingles_of(text, 5, 5), 112, 1).tobytes()
    code = (
        "from tasks.dedup.signature import *; import sys; text = sys.argv[1];"
        "print((exact_hash(text) + minhash(shingles_of(text, 5, 5), 112, 1).tobytes()).hex())"
    )
    there = subprocess.run(
        [sys.executable, "-c", code, text], env={"PYTHONHASHSEED": "2"}, capture_output=True, check=True, text=True
    )
    assert bytes.fromhex(there.stdout) == here
