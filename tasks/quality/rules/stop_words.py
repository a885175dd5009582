"""Drop text without the small words that every sentence needs.

Definition: how many different words of the list occur, in any case. The list is English; a profile for another
language brings its own, or turns the filter off.
Source: Gopher (Rae et al. 2021), 2 of the 8 words.
"""

from typing import ClassVar

from pydantic import Field

from tasks.core.document import Verdict
from tasks.quality.base import Example, Filter, Signals, first_drop
from tasks.quality.words import TextView

ENGLISH = ["the", "be", "to", "of", "and", "that", "have", "with"]


class StopWords(Filter):
    """The small words of the language occur."""

    name: ClassVar[str] = "stop_words"
    signals: ClassVar[tuple[str, ...]] = ("num_stop_words",)
    reasons: ClassVar[tuple[str, ...]] = ("too_few_stop_words",)
    examples: ClassVar[tuple[Example, ...]] = (
        Example("The end of it"),
        Example("the the the price list", "too_few_stop_words"),
    )

    min_words: int = Field(2, ge=0, description="Fewest different words of the list.")
    words: list[str] = Field(ENGLISH, description="Stop words of the language, in lower case.")

    def measure(self, text: TextView) -> dict[str, float]:
        """Return how many different stop words occur."""
        return {"num_stop_words": float(len(set(self.words).intersection(map(str.lower, text.distinct_words))))}

    def decide(self, signals: Signals) -> Verdict:
        """Drop when too few stop words occur."""
        value = signals["num_stop_words"]
        return first_drop((value < self.min_words, "too_few_stop_words", value, self.min_words))
