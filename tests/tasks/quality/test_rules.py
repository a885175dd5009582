"""One contract for every filter of the registry, and the published limits at their edges."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.quality.base import Filter
from tasks.quality.rules import REGISTRY
from tasks.quality.rules.ngram_loops import most_repeats
from tasks.quality.words import TextView

FILTERS = [REGISTRY[name] for name in sorted(REGISTRY)]
each_filter = pytest.mark.parametrize("kind", FILTERS, ids=lambda kind: kind.name)


def reason_for(text: str, kind: type[Filter], **settings: float) -> str:
    filter_ = kind(**settings)
    return filter_.decide(filter_.measure(TextView(text))).reason


@each_filter
def test_every_example_is_judged_as_it_says(kind: type[Filter]) -> None:
    for example in kind.examples:
        assert reason_for(example.text, kind) == (example.reason or ""), example.text[:80]


@each_filter
def test_every_reason_has_an_example_and_a_kept_text_stands_beside(kind: type[Filter]) -> None:
    shown = {example.reason for example in kind.examples}
    assert shown == {None, *kind.reasons}


@each_filter
def test_a_filter_is_named_like_its_file_and_documented(kind: type[Filter]) -> None:
    assert kind.__module__.rpartition(".")[2] == kind.name
    assert kind.__doc__
    assert all(field.description for field in kind.model_fields.values())


def test_names_of_signals_and_reasons_are_used_once() -> None:
    for names in ([s for kind in FILTERS for s in kind.signals], [r for kind in FILTERS for r in kind.reasons]):
        assert len(names) == len(set(names))


@settings(max_examples=60, deadline=None)
@given(st.text() | st.lists(st.sampled_from(["the", "a", ".", "\n", "#", "…", "{", "字", "1"])).map(" ".join))
def test_any_text_gives_the_same_declared_verdict_twice(text: str) -> None:
    view = TextView(text)
    for kind in FILTERS:
        first, second = kind().measure(view), kind().measure(TextView(text))
        assert first == second
        assert tuple(first) == kind.signals
        assert all(np.isfinite(value) for value in first.values())
        verdict = kind().decide(first)
        assert verdict == kind().decide(second)
        assert verdict.keep or verdict.reason in kind.reasons


def test_a_name_used_twice_fails_and_names_both_modules() -> None:
    taken = REGISTRY["word_count"]
    parts = {"name": "word_count", "signals": ("other",), "reasons": (), "examples": (), "__module__": "some.module"}
    with pytest.raises(
        TypeError, match=r"'word_count' is used twice: in tasks.quality.rules.word_count and in some.module"
    ):
        type("Again", (Filter,), parts)
    assert REGISTRY["word_count"] is taken


def test_a_filter_without_its_parts_fails_when_its_class_is_made() -> None:
    with pytest.raises(TypeError, match="a filter needs signals, reasons, examples"):
        type("Half", (Filter,), {"name": "half", "__module__": __name__})


def test_a_signal_measured_by_two_filters_fails() -> None:
    parts = {"name": "new", "signals": ("num_words",), "reasons": (), "examples": (), "__module__": __name__}
    with pytest.raises(TypeError, match=r"\['num_words'\] are measured twice"):
        type("Double", (Filter,), parts)


EDGES: list[tuple[str, Callable[[int], str], int, int, str]] = [
    # filter, text of a number, the last that is kept, the first that goes, its reason
    ("character_count", lambda n: "x" * n, 50, 49, "too_few_characters"),  # R-3.1-11
    ("word_count", lambda n: "word " * n, 50, 49, "too_few_words"),
    ("word_count", lambda n: "a " * n, 100_000, 100_001, "too_many_words"),
    ("mean_word_length", lambda n: "abc " * 99 + "a" * (n - 297), 300, 299, "words_too_short"),
    ("mean_word_length", lambda n: "abcdefghij " * 99 + "a" * (n - 990), 1000, 1001, "words_too_long"),
    ("line_punctuation", lambda n: "End.\n" * n + "none\n" * (1000 - n), 120, 119, "too_few_punctuated_lines"),
    ("short_lines", lambda n: "s" * 30 + "\n" + ("s\n" * (n - 1)) + ("l" * 31 + "\n") * (1000 - n), 670, 671,
     "too_many_short_lines"),
    ("web_duplicate_lines", lambda n: "d" * n + "\n" + "d" * n + "\n" + "x" * (1000 - 2 * n), 10, 11,
     "web_duplicate_line_characters"),
    ("newlines", lambda n: "\n".join(["w " * (1000 - n), *["w"] * n]), 300, 301, "too_many_newlines"),
    ("symbol_ratio", lambda n: "word " * 1000 + "#" * n, 100, 101, "too_many_hashes"),
    ("symbol_ratio", lambda n: "word " * 1000 + "… " * n, 100, 101, "too_many_ellipses"),
    ("bullet_lines", lambda n: "- b\n" * n + "line\n" * (1000 - n), 900, 901, "too_many_bullet_lines"),
    ("ellipsis_lines", lambda n: "b...\n" * n + "line\n" * (1000 - n), 300, 301, "too_many_ellipsis_lines"),
    ("alphabetic_words", lambda n: "a " * n + "1 " * (1000 - n), 800, 799, "too_few_alphabetic_words"),
    ("duplicate_lines", lambda n: "\n".join([*map(str, range(1000 - n)), *["0"] * n]), 300, 301, "duplicate_lines"),
    ("stop_words", lambda n: " ".join(["the", "of", "and"][:n]), 2, 1, "too_few_stop_words"),
    ("sentence_count", lambda n: "One more. " * n, 3, 2, "too_few_sentences"),
    ("ngram_loops", lambda n: "seven " * n, 31, 32, "ngram_loop"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "kept", "dropped", "reason"), EDGES, ids=lambda value: str(value)[:24])
def test_a_limit_itself_is_kept_and_one_step_beyond_goes(
    name: str, text: Callable[[int], str], kept: int, dropped: int, reason: str
) -> None:
    assert reason_for(text(kept), REGISTRY[name]) == ""
    assert reason_for(text(dropped), REGISTRY[name]) == reason


@pytest.mark.parametrize(
    ("value", "name", "signal", "reason"),
    [
        (2.99, "mean_word_length", "mean_word_length", "words_too_short"),
        (3.0, "mean_word_length", "mean_word_length", ""),
        (10.0, "mean_word_length", "mean_word_length", ""),
        (10.01, "mean_word_length", "mean_word_length", "words_too_long"),
        (0.119, "line_punctuation", "punctuated_line_ratio", "too_few_punctuated_lines"),
        (0.12, "line_punctuation", "punctuated_line_ratio", ""),
        (0.67, "short_lines", "short_line_ratio", ""),
        (0.671, "short_lines", "short_line_ratio", "too_many_short_lines"),
        (0.01, "web_duplicate_lines", "web_duplicate_line_character_ratio", ""),
        (0.011, "web_duplicate_lines", "web_duplicate_line_character_ratio", "web_duplicate_line_characters"),
        (0.3, "newlines", "newlines_per_word", ""),
        (0.301, "newlines", "newlines_per_word", "too_many_newlines"),
    ],
)
def test_the_published_limits_decide_on_numbers_alone(value: float, name: str, signal: str, reason: str) -> None:
    assert REGISTRY[name]().decide({signal: value}).reason == reason


def test_the_published_default_limits_are_the_defaults() -> None:
    dump = {name: kind().model_dump(exclude={"enabled"}) for name, kind in REGISTRY.items()}
    assert dump["top_ngrams"] == {"max_ratio_2": 0.2, "max_ratio_3": 0.18, "max_ratio_4": 0.16}
    assert list(dump["duplicate_ngrams"].values()) == [0.15, 0.14, 0.13, 0.12, 0.11, 0.10]
    assert dump["duplicate_lines"] == {"max_ratio": 0.3, "max_character_ratio": 0.2}
    assert dump["duplicate_paragraphs"] == {"max_ratio": 0.3, "max_character_ratio": 0.2}


@pytest.mark.parametrize(
    ("run", "expected"),
    [([7] * 31, 31), ([7] * 32, 32), ([7, 8] * 32, 32), ([*range(13)] * 31, 31), ([*range(13)] * 32, 32),
     ([*range(14)] * 40, 1), ([], 0), ([5], 1), ([1, 2, 3], 1)],
)  # fmt: skip
def test_loops_of_up_to_thirteen_words_are_counted(run: list[int], expected: int) -> None:
    assert most_repeats(np.array(run, np.int64)) == expected


@given(st.lists(st.integers(0, 2), max_size=40))
def test_loops_equal_a_brute_force_search(run: list[int]) -> None:
    most = min(len(run), 1)
    for period in range(1, 14):
        for start in range(len(run) - period + 1):
            times = 1
            while run[start : start + period] == run[start + times * period : start + (times + 1) * period]:
                times += 1
            most = max(most, times)
    assert most_repeats(np.array(run, np.int64)) == most
