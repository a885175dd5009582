"""Drop placeholder text.

Definition: occurrences of ``lorem ipsum``, in any case.
Source: C4 (Raffel et al. 2020), none allowed.
"""

from typing import ClassVar

from pydantic import Field

from tasks.core.document import Verdict
from tasks.quality.base import Example, Filter, Signals, first_drop
from tasks.quality.words import TextView


class LoremIpsum(Filter):
    """No placeholder text."""

    name: ClassVar[str] = "lorem_ipsum"
    signals: ClassVar[tuple[str, ...]] = ("num_lorem_ipsum",)
    reasons: ClassVar[tuple[str, ...]] = ("placeholder_text",)
    examples: ClassVar[tuple[Example, ...]] = (
        Example("Cicero wrote on good and evil."),
        Example("Our team: Lorem Ipsum dolor", "placeholder_text"),
    )

    max_occurrences: int = Field(0, ge=0, description="How often the words may occur.")

    def measure(self, text: TextView) -> dict[str, float]:
        """Return how often the words occur."""
        return {"num_lorem_ipsum": float(text.text.lower().count("lorem ipsum"))}

    def decide(self, signals: Signals) -> Verdict:
        """Drop when they occur more often than allowed."""
        value = signals["num_lorem_ipsum"]
        return first_drop((value > self.max_occurrences, "placeholder_text", value, self.max_occurrences))
