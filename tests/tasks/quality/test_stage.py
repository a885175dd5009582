"""Judging: annotate first, decide second; profiles; texts that prose rules get wrong."""

import json
from pathlib import Path
from typing import Any

import pytest

from configs.base import ConfigFileError
from tasks.core.document import Document, Dropped, Locator, kept_and_dropped
from tasks.quality.rules import REGISTRY
from tasks.quality.stage import SIGNALS, QualityProfile, filters_of, judge

CASES = Path(__file__).parents[4] / "shared" / "cases"
PROSE = (
    "The lamp on the north rock was lit for the first time in the spring of that year. Before it stood there, ships "
    "from the islands had to wait outside until morning. An old woman kept the light with her two sons, and people "
    "say that she never slept during a storm. Today a machine does her work, but visitors still climb up to see it."
)


def document(text: str, name: str = "d") -> Document:
    return Document(
        name.encode().ljust(16, b"\0"), "web", "", "", Locator(name, 0), None, "", "CC0-1.0", text
    ).with_text(text)


def profile(**filters: Any) -> QualityProfile:
    return QualityProfile.model_validate({"filters": filters})


def rows(case: str, file: str) -> list[dict[str, str]]:
    path = CASES / case / file
    if not path.exists():
        pytest.skip("the shared cases are not here")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_kept_document_carries_every_signal_and_its_number_of_words() -> None:
    [kept] = judge([document(PROSE)], profile())
    assert isinstance(kept, Document)
    assert set(kept.signals) == set(SIGNALS)
    assert kept.num_words == kept.signals["num_words"] == len(PROSE.split())


def test_the_first_reason_in_order_of_name_is_the_reason() -> None:
    [dropped] = judge([document("- #")], profile())
    assert isinstance(dropped, Dropped)
    assert (dropped.stage, dropped.reason, dropped.value, dropped.limit) == (
        "quality",
        "too_few_alphabetic_words",
        "0",
        "0.8",
    )


def test_a_limit_of_the_profile_decides() -> None:
    [dropped] = judge([document(PROSE)], profile(word_count={"min_words": 70}))
    assert isinstance(dropped, Dropped)
    assert (dropped.reason, dropped.value, dropped.limit) == ("too_few_words", "66", "70")


def test_a_disabled_filter_neither_measures_nor_drops_nor_counts_for_the_identity() -> None:
    off = profile(web_duplicate_lines={"enabled": False})
    [kept] = judge([document(PROSE)], off)
    assert isinstance(kept, Document)
    assert "web_duplicate_line_character_ratio" not in kept.signals
    assert "web_duplicate_lines" not in off.filters.identity()
    assert off.filters.fingerprint() != profile().filters.fingerprint()
    off_with_limit = profile(web_duplicate_lines={"enabled": False, "max_ratio": 0.5})
    assert off.filters.fingerprint() == off_with_limit.filters.fingerprint()


def test_every_document_ends_kept_or_dropped_once_in_order() -> None:
    documents = [document(text, str(number)) for number, text in enumerate([PROSE, "", "x" * 60, PROSE + " {"])]
    results = list(judge(documents, profile()))
    assert [result.doc_id for result in results] == [item.doc_id for item in documents]
    kept, dropped = kept_and_dropped(results)
    assert len(kept) == 1
    assert [item.reason for item in dropped] == [
        "too_few_alphabetic_words",
        "too_few_punctuated_lines",
        "curly_bracket",
    ]


def test_the_form_shows_every_filter_with_its_description() -> None:
    schema = QualityProfile.model_json_schema()
    shown = schema["$defs"]["Filters"]["properties"]
    assert list(shown) == sorted(REGISTRY) == [item.name for item in filters_of(profile())]
    kinds = {name: schema["$defs"][entry["$ref"].rpartition("/")[2]] for name, entry in shown.items()}
    assert all(kinds[name]["description"] == kind.__doc__ for name, kind in REGISTRY.items())
    assert "anyOf" not in json.dumps(schema)


def test_an_unknown_filter_or_a_limit_out_of_range_is_refused() -> None:
    with pytest.raises(ConfigFileError, match=r"word_cuont: unknown setting; known here: .*word_count"):
        QualityProfile.checked({"filters": {"word_cuont": {}}}, where="x.yaml")
    with pytest.raises(ConfigFileError, match=r"filters.word_count.min_words: .*greater than or equal to 0, got -5"):
        QualityProfile.checked({"filters": {"word_count": {"min_words": -5}}}, where="x.yaml")


def test_b27_clean_text_without_spaces_is_kept_by_a_profile_for_it() -> None:
    no_spaces = {
        name: {"enabled": False} for name in ("mean_word_length", "stop_words", "line_punctuation", "sentence_count")
    }
    texts = {row["id"]: row["text"] for row in rows("B27", "no_spaces.jsonl")}
    only = profile(**no_spaces, word_count={"min_words": 20})
    reasons = {name: [*judge([document(text)], only)] for name, text in texts.items()}
    assert {name for name, [result] in reasons.items() if isinstance(result, Document)} == {"zh", "ja", "th", "ar"}


def test_b28_a_page_of_numbers_goes_and_its_reason_says_the_direction() -> None:
    [row] = rows("B28", "numbers.jsonl")
    [dropped] = judge([document(row["text"])], profile())
    assert isinstance(dropped, Dropped)
    assert dropped.reason == "too_few_alphabetic_words"


def test_b32_spam_goes_by_repetition_and_others_name_the_rule_that_a_profile_can_turn_off() -> None:
    texts = {row["id"]: row["text"] for row in rows("B32", "poem_list_code.jsonl")}
    results = {name: next(judge([document(text)], profile())) for name, text in texts.items()}
    assert all(isinstance(result, Dropped) and result.value and result.limit for result in results.values())
    prose_rules = (
        "alphabetic_words bullet_lines curly_brackets line_punctuation mean_word_length newlines sentence_count "
        "short_lines stop_words symbol_ratio word_count"
    )
    short_forms = profile(**{name: {"enabled": False} for name in prose_rules.split()})
    kept = {name for name, text in texts.items() if isinstance(next(judge([document(text)], short_forms)), Document)}
    assert kept == {"poem", "list", "code"}
