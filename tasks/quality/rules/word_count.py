"""Drop documents that are too short to learn from, or too long to be one document.

Definition: number of words.
Source: Gopher (Rae et al. 2021), 50 to 100,000 words.
"""

from typing import ClassVar

from pydantic import Field

from tasks.core.document import Verdict
from tasks.quality.base import Example, Filter, Signals, first_drop
from tasks.quality.words import TextView


class WordCount(Filter):
    """As many words as a document has."""

    name: ClassVar[str] = "word_count"
    signals: ClassVar[tuple[str, ...]] = ("num_words",)
    reasons: ClassVar[tuple[str, ...]] = ("too_few_words", "too_many_words")
    examples: ClassVar[tuple[Example, ...]] = (
        Example("word " * 50),
        Example("word " * 49, "too_few_words"),
        Example("a " * 100_001, "too_many_words"),
    )

    min_words: int = Field(50, ge=0, description="Fewest words.")
    max_words: int = Field(100_000, ge=1, description="Most words.")

    def measure(self, text: TextView) -> dict[str, float]:
        """Return the number of words."""
        return {"num_words": float(len(text.words))}

    def decide(self, signals: Signals) -> Verdict:
        """Drop when there are too few or too many words."""
        value = signals["num_words"]
        return first_drop(
            (value < self.min_words, "too_few_words", value, self.min_words),
            (value > self.max_words, "too_many_words", value, self.max_words),
        )
