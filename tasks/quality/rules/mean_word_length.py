"""Drop documents whose words are too short or too long for a language.

Definition: characters in words / words. Turn it off for scripts without spaces: there a character is a word.
Source: Gopher (Rae et al. 2021), 3 to 10 characters.
"""

from typing import ClassVar

from pydantic import Field

from tasks.core.document import Verdict
from tasks.quality.base import Example, Filter, Signals, first_drop
from tasks.quality.words import TextView, ratio


class MeanWordLength(Filter):
    """Words are as long as words are."""

    name: ClassVar[str] = "mean_word_length"
    signals: ClassVar[tuple[str, ...]] = ("mean_word_length",)
    reasons: ClassVar[tuple[str, ...]] = ("words_too_short", "words_too_long")
    examples: ClassVar[tuple[Example, ...]] = (
        Example("words of common length"),
        Example("a b c d e", "words_too_short"),
        Example("eleventimes antidisestablishment", "words_too_long"),
    )

    min_length: float = Field(3.0, ge=0, description="Smallest mean length in characters.")
    max_length: float = Field(10.0, ge=0, description="Largest mean length in characters.")

    def measure(self, text: TextView) -> dict[str, float]:
        """Return the mean length of the words."""
        return {"mean_word_length": ratio(float(text.word_lengths.sum()), len(text.words))}

    def decide(self, signals: Signals) -> Verdict:
        """Drop when words are too short or too long on average."""
        value = signals["mean_word_length"]
        return first_drop(
            (value < self.min_length, "words_too_short", value, self.min_length),
            (value > self.max_length, "words_too_long", value, self.max_length),
        )
