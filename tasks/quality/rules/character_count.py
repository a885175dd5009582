"""Drop documents with next to no text.

Definition: Unicode characters of the text, white space at its ends left out.
Source: common practice, 50 characters.
"""

from typing import ClassVar

from pydantic import Field

from tasks.core.document import Verdict
from tasks.quality.base import Example, Filter, Signals, first_drop
from tasks.quality.words import TextView


class CharacterCount(Filter):
    """There is some text at all."""

    name: ClassVar[str] = "character_count"
    signals: ClassVar[tuple[str, ...]] = ("num_characters",)
    reasons: ClassVar[tuple[str, ...]] = ("too_few_characters",)
    examples: ClassVar[tuple[Example, ...]] = (
        Example("x" * 50),
        Example("x" * 49, "too_few_characters"),
        Example("", "too_few_characters"),
    )

    min_characters: int = Field(50, ge=0, description="Fewest characters.")

    def measure(self, text: TextView) -> dict[str, float]:
        """Return the number of characters."""
        return {"num_characters": float(len(text.text.strip()))}

    def decide(self, signals: Signals) -> Verdict:
        """Drop when there is too little text."""
        value = signals["num_characters"]
        return first_drop((value < self.min_characters, "too_few_characters", value, self.min_characters))
