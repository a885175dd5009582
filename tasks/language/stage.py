"""Label each document with its language and score; drop what is not wanted or not certain.

A predictor says what a text is. Texts with fewer letters than a limit, empty ones included, never reach it: they are
``und`` with score 0. Scores are rounded to six digits, so that a threshold means the same for the model's 32-bit
numbers. Without a list of wanted languages every document is kept and labelled.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from pydantic import Field

from configs.base import Config
from tasks.core.document import KEEP, Document, Dropped, Verdict

VERSION = 1
STAGE = "language"
UNDETERMINED = "und"

_SCORE_DIGITS = 6

Predict = Callable[[str], tuple[str, float]]


class LanguageThreshold(Config):
    """The smallest score for one language."""

    language: str = Field(pattern=r"^[a-z]{2,3}$", description="ISO 639 code, as the model labels it.")
    min_score: float = Field(ge=0, le=1, description="Smallest score that is certain enough.")


class LanguageConfig(Config):
    """How the language of a document is found, and how certain it must be."""

    model: str = Field("", description="Path of a fastText model; empty: lid.176 from the installed package.")
    min_score: float = Field(0.65, ge=0, le=1, description="Smallest score that is certain enough.")
    thresholds: list[LanguageThreshold] = Field([], description="Other smallest scores, per language.")
    min_letters: int = Field(10, ge=1, description="Texts with fewer letters are labelled und (undetermined).")


def identify(
    documents: Iterable[Document], *, config: LanguageConfig, languages: tuple[str, ...], predict: Predict
) -> Iterator[Document | Dropped]:
    """Yield each document with its language, or why it is dropped; no ``languages`` means that all are wanted."""
    thresholds = {item.language: item.min_score for item in config.thresholds}
    for document in documents:
        language, score = label(document.text, config.min_letters, predict)
        labelled = replace(document, language=language, language_score=score)
        verdict = judge(language, score, languages, thresholds.get(language, config.min_score))
        yield labelled if verdict.keep else Dropped.of(labelled, STAGE, verdict)


def label(text: str, min_letters: int, predict: Predict) -> tuple[str, float]:
    """Return language and score of a text."""
    if not _has_letters(text, min_letters):
        return UNDETERMINED, 0.0
    language, score = predict(text)
    return language, min(1.0, round(score, _SCORE_DIGITS))


def judge(language: str, score: float, languages: tuple[str, ...], min_score: float) -> Verdict:
    """Judge a label; a score at the threshold is certain enough."""
    if not languages:
        return KEEP
    if language not in languages:
        return Verdict.drop("language_not_wanted", f"{language} {score:.4g}", " ".join(languages))
    if score < min_score and language != UNDETERMINED:
        return Verdict.drop("language_uncertain", f"{language} {score:.4g}", f"{min_score:.4g}")
    return KEEP


def _has_letters(text: str, number: int) -> bool:
    found = 0
    for character in text:
        found += character.isalpha()
        if found >= number:
            return True
    return False
