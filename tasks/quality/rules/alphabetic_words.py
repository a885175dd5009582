"""Drop documents with too few words that contain a letter.

Definition: words with at least one alphabetic character / all words.
Source: Gopher (Rae et al. 2021), 80 %.
"""

from typing import ClassVar

import numpy as np
from pydantic import Field

from tasks.core.document import Verdict
from tasks.quality.base import Example, Filter, Signals, first_drop
from tasks.quality.words import TextView, ratio


class AlphabeticWords(Filter):
    """Enough words contain a letter."""

    name: ClassVar[str] = "alphabetic_words"
    signals: ClassVar[tuple[str, ...]] = ("alphabetic_word_ratio",)
    reasons: ClassVar[tuple[str, ...]] = ("too_few_alphabetic_words",)
    examples: ClassVar[tuple[Example, ...]] = (
        Example("five plain words and 1"),
        Example("0.0 1.1 2.2 3.3 four", "too_few_alphabetic_words"),
    )

    min_ratio: float = Field(0.8, ge=0, le=1, description="Smallest share of words with a letter.")

    def measure(self, text: TextView) -> dict[str, float]:
        """Return the share of words with a letter."""
        with_letter = [word.isalpha() or any(map(str.isalpha, word)) for word in text.distinct_words]
        words = np.array(with_letter, np.bool_)[text.word_ids]
        return {"alphabetic_word_ratio": ratio(float(np.count_nonzero(words)), len(words))}

    def decide(self, signals: Signals) -> Verdict:
        """Drop when too few words have a letter."""
        value = signals["alphabetic_word_ratio"]
        return first_drop((value < self.min_ratio, "too_few_alphabetic_words", value, self.min_ratio))
