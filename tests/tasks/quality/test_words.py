"""The measured quantities against values worked out by hand and against a plain reading of their definitions."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.quality.words import TextView, ratio, repeated

WORDS = st.lists(st.sampled_from(["a", "bb", "ccc", "dd", "e"]), max_size=60)


def test_a_repeated_five_gram_counts_once_and_only_its_second_occurrence() -> None:
    text = TextView("a b c d e a b c d e f g h i j")
    assert ratio(text.duplicate_ngram_characters(5), len(text.text)) == pytest.approx(5 / 29)
    assert round(5 / 29, 4) == 0.1724


def test_the_top_two_gram_counts_all_its_occurrences_with_spaces() -> None:
    text = TextView("a b a b a b c")
    assert ratio(text.top_ngram_characters(2), len(text.text)) == pytest.approx(9 / 13)


def test_of_lines_x_y_x_x_half_are_duplicates() -> None:
    count, characters = TextView("x\ny\nx\nx").repeated_lines
    assert (count / 4, characters) == (0.5, 2)


def test_a_text_without_repetition_has_no_top_ngram() -> None:
    assert TextView("every word is new here").top_ngram_characters(2) == 0


def test_lines_and_paragraphs_are_stripped_and_blank_ones_left_out() -> None:
    text = TextView("\n  one \n\n \t\n two\nthree\n")
    assert text.lines == ["one", "two", "three"]
    assert text.paragraphs == ["one", "two\nthree"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", 3),
        ("Version 1.2.3 is out.", 1),
        ("他走了。下雨了。", 2),
        ("He said “no.” Then…", 2),
        ("", 0),
    ],
)
def test_sentences_are_counted_by_their_ends(text: str, expected: int) -> None:
    assert TextView(text).num_sentences == expected


def duplicate_characters_by_reading(words: list[str], n: int) -> int:
    seen: set[tuple[str, ...]] = set()
    total = position = 0
    while position + n <= len(words):
        ngram = tuple(words[position : position + n])
        if ngram in seen:
            total += sum(map(len, ngram))
            position += n
        else:
            seen.add(ngram)
            position += 1
    return total


def top_characters_by_counting(words: list[str], n: int) -> int:
    counts = Counter(" ".join(words[start : start + n]) for start in range(len(words) - n + 1))
    [(ngram, count)] = counts.most_common(1) or [("", 0)]
    return len(ngram) * count if count > 1 else 0


@given(WORDS, st.integers(1, 10))
def test_duplicate_ngrams_equal_a_reading_from_left_to_right(words: list[str], n: int) -> None:
    assert TextView(" ".join(words)).duplicate_ngram_characters(n) == duplicate_characters_by_reading(words, n)


@given(WORDS, st.integers(1, 4))
def test_top_ngrams_equal_a_count_of_all(words: list[str], n: int) -> None:
    assert TextView(" ".join(words)).top_ngram_characters(n) == top_characters_by_counting(words, n)


@given(st.lists(st.sampled_from(["x", "yy", "zzz"])))
def test_repeated_items_are_all_but_the_first_of_each(items: list[str]) -> None:
    count, characters = repeated(items)
    assert count == len(items) - len(set(items))
    assert characters == sum(map(len, items)) - sum(map(len, set(items)))
