"""Language labels and verdicts."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.core.document import Document, Dropped, Locator
from tasks.language.stage import LanguageConfig, LanguageThreshold, identify, label


def document(text: str = "Some letters that are enough.") -> Document:
    return Document(b"0" * 16, "web", "", "", Locator("f", 0), None, "", "", text)


def judged(language: str, score: float, languages: tuple[str, ...], config: LanguageConfig | None = None) -> str:
    (result,) = identify(
        [document()], config=config or LanguageConfig(), languages=languages, predict=lambda _: (language, score)
    )
    if isinstance(result, Document):
        return f"{result.language} {result.language_score:.4g}"
    assert (result.stage, result.text_head) == ("language", document().text)
    return f"{result.reason}: {result.value}, limit {result.limit}"


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        (0.6499, "language_uncertain: en 0.6499, limit 0.65"),
        (0.65, "en 0.65"),
        (0.6499999761581421, "en 0.65"),  # 0.65 as a 32-bit number
        (1.0000100135803223, "en 1"),
    ],
)
def test_a_score_at_the_threshold_is_kept(score: float, expected: str) -> None:
    """LID .6499/.65."""
    assert judged("en", score, ("en",)) == expected


def test_a_language_that_is_not_wanted_is_dropped_however_certain() -> None:
    assert judged("de", 0.98, ("en", "fr")) == "language_not_wanted: de 0.98, limit en fr"
    assert judged("de", 0.2, ("en",)) == "language_not_wanted: de 0.2, limit en"


def test_without_wanted_languages_all_are_kept_and_labelled() -> None:
    assert judged("de", 0.2, ()) == "de 0.2"


def test_a_language_may_have_its_own_threshold() -> None:
    config = LanguageConfig(thresholds=[LanguageThreshold(language="is", min_score=0.4)])
    assert judged("is", 0.4, ("is", "en"), config) == "is 0.4"
    assert judged("en", 0.4, ("is", "en"), config).startswith("language_uncertain")


@pytest.mark.parametrize("text", ["", "   \n\t", "1234 5678 !!! --- +++ 99999", "abc defgh", "☃☃☃☃☃☃☃☃☃☃☃☃", "\0" * 20])
def test_text_with_few_letters_is_undetermined_and_never_reaches_the_model(text: str) -> None:
    def refuse(_: str) -> tuple[str, float]:
        raise AssertionError("the model was asked")

    assert label(text, 10, refuse) == ("und", 0.0)


def test_undetermined_text_is_kept_only_when_it_is_wanted() -> None:
    def found(languages: tuple[str, ...]) -> Document | Dropped:
        (result,) = identify(
            [document("123")], config=LanguageConfig(), languages=languages, predict=lambda _: ("en", 1)
        )
        return result

    assert isinstance(found(("und",)), Document)
    refused = found(("en",))
    assert isinstance(refused, Dropped)
    assert (refused.reason, refused.value) == ("language_not_wanted", "und 0")


def test_b26_several_wanted_languages_are_one_list_of_which_each_is_kept() -> None:
    path = Path(__file__).parents[3] / ".." / "shared" / "cases" / "B26" / "docs.jsonl"
    if not path.exists():
        pytest.skip("the shared cases are not here")
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    languages = {row["text"]: row["lang"] for row in rows}
    results = identify(
        [document(row["text"]) for row in rows],
        config=LanguageConfig(min_score=0.5),
        languages=("en", "zh"),
        predict=lambda text: (languages[text], 0.9),
    )
    assert [item.language for item in results if isinstance(item, Document)] == ["en", "zh"]


def test_ten_letters_are_enough() -> None:
    assert label("abcdefghij", 10, lambda _: ("en", 0.9)) == ("en", 0.9)
    assert label("abcdefghi", 10, lambda _: ("en", 0.9)) == ("und", 0.0)


@given(
    st.lists(st.tuples(st.sampled_from(["en", "de", "und"]), st.floats(0, 1))), st.sets(st.sampled_from(["en", "de"]))
)
def test_counts_add_up(labels: list[tuple[str, float]], languages: set[str]) -> None:
    answers = iter(labels)
    results = list(
        identify(
            [document() for _ in labels],
            config=LanguageConfig(),
            languages=tuple(languages),
            predict=lambda _: next(answers),
        )
    )
    assert len(results) == len(labels)
