"""Drop lists: documents with a new line every few words.

Definition: newlines in the text / words.
Source: FineWeb (Penedo et al. 2024), 0.3.
"""

from typing import ClassVar

from pydantic import Field

from tasks.core.document import Verdict
from tasks.quality.base import Example, Filter, Signals, first_drop
from tasks.quality.words import TextView, ratio


class Newlines(Filter):
    """Lines hold more than a word or two."""

    name: ClassVar[str] = "newlines"
    signals: ClassVar[tuple[str, ...]] = ("newlines_per_word",)
    reasons: ClassVar[tuple[str, ...]] = ("too_many_newlines",)
    examples: ClassVar[tuple[Example, ...]] = (
        Example("a line of several words\nand one more of them"),
        Example("red\ngreen\nblue", "too_many_newlines"),
    )

    max_ratio: float = Field(0.3, ge=0, description="Most newlines per word.")

    def measure(self, text: TextView) -> dict[str, float]:
        """Return the newlines per word."""
        return {"newlines_per_word": ratio(text.text.count("\n"), len(text.words))}

    def decide(self, signals: Signals) -> Verdict:
        """Drop when lines are too short on average."""
        value = signals["newlines_per_word"]
        return first_drop((value > self.max_ratio, "too_many_newlines", value, self.max_ratio))
