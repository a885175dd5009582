"""Drop documents in which one short phrase is everywhere.

Definition, for n = 2, 3 and 4: characters of the most frequent n-gram, spaces included, times its occurrences /
characters of the text. An n-gram that occurs once counts 0.
Source: Gopher (Rae et al. 2021), 20, 18 and 16 %.
"""

from typing import ClassVar

from pydantic import Field

from tasks.core.document import Verdict
from tasks.quality.base import Example, Filter, Signals, first_drop
from tasks.quality.words import TextView, ratio

LENGTHS = (2, 3, 4)
_FILLER = "and here are several more words that never come again until the end"
_MORE = "so this text grows long enough for it"


class TopNgrams(Filter):
    """No phrase of two to four words is everywhere."""

    name: ClassVar[str] = "top_ngrams"
    signals: ClassVar[tuple[str, ...]] = tuple(f"top_{n}gram_ratio" for n in LENGTHS)
    reasons: ClassVar[tuple[str, ...]] = tuple(f"frequent_{n}gram" for n in LENGTHS)
    examples: ClassVar[tuple[Example, ...]] = (
        Example("no phrase is here more often than once"),
        Example("a b a b a b c", "frequent_2gram"),
        Example(f"one two six {_FILLER} one two six", "frequent_3gram"),
        Example(f"one two six ten {_FILLER} {_MORE} one two six ten", "frequent_4gram"),
    )

    max_ratio_2: float = Field(0.20, ge=0, le=1, description="Largest share of characters in the top 2-gram.")
    max_ratio_3: float = Field(0.18, ge=0, le=1, description="Largest share of characters in the top 3-gram.")
    max_ratio_4: float = Field(0.16, ge=0, le=1, description="Largest share of characters in the top 4-gram.")

    def measure(self, text: TextView) -> dict[str, float]:
        """Return the share of the most frequent n-gram for each length."""
        return {f"top_{n}gram_ratio": ratio(text.top_ngram_characters(n), len(text.text)) for n in LENGTHS}

    def decide(self, signals: Signals) -> Verdict:
        """Drop for the shortest phrase that is everywhere."""
        limits = (self.max_ratio_2, self.max_ratio_3, self.max_ratio_4)
        values = [signals[name] for name in self.signals]
        return first_drop(
            *(
                (value > limit, reason, value, limit)
                for reason, value, limit in zip(self.reasons, values, limits, strict=True)
            )
        )
