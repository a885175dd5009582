"""Drop documents without sentences.

Definition: end marks followed by white space or the end; in scripts without spaces every end mark.
Source: C4 (Raffel et al. 2020), 3 sentences as in its published code.
"""

from typing import ClassVar

from pydantic import Field

from tasks.core.document import Verdict
from tasks.quality.base import Example, Filter, Signals, first_drop
from tasks.quality.words import TextView


class SentenceCount(Filter):
    """There are sentences."""

    name: ClassVar[str] = "sentence_count"
    signals: ClassVar[tuple[str, ...]] = ("num_sentences",)
    reasons: ClassVar[tuple[str, ...]] = ("too_few_sentences",)
    examples: ClassVar[tuple[Example, ...]] = (
        Example('One. "Two!" Three?'),
        Example("下雨了。他走了。天黑了。"),
        Example("Version 1.2.3 of example.org. The end.", "too_few_sentences"),
    )

    min_sentences: int = Field(3, ge=0, description="Fewest sentences.")

    def measure(self, text: TextView) -> dict[str, float]:
        """Return the number of sentences."""
        return {"num_sentences": float(text.num_sentences)}

    def decide(self, signals: Signals) -> Verdict:
        """Drop when there are too few sentences."""
        value = signals["num_sentences"]
        return first_drop((value < self.min_sentences, "too_few_sentences", value, self.min_sentences))
