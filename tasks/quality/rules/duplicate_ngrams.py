"""Drop documents that repeat long runs of words.

Definition, for n = 5 to 10: reading from left to right, an n-gram seen before counts its characters (spaces left out)
and reading goes on behind it; counted characters / characters of the text. The first occurrence does not count.
Source: limits of Gopher (Rae et al. 2021), 15 to 10 %; counting as datatrove does.
"""

from typing import ClassVar

from pydantic import Field

from tasks.core.document import Verdict
from tasks.quality.base import Example, Filter, Signals, first_drop
from tasks.quality.words import TextView, ratio

LENGTHS = (5, 6, 7, 8, 9, 10)


def _twice(n: int, num_words: int) -> str:
    """Return a text of three-letter words in which only one run of n words is there twice."""
    words = [f"w{chr(97 + index // 26)}{chr(97 + index % 26)}" for index in range(num_words - n)]
    return " ".join([*words, *words[:n]])


class DuplicateNgrams(Filter):
    """Few runs of five to ten words are said twice."""

    name: ClassVar[str] = "duplicate_ngrams"
    signals: ClassVar[tuple[str, ...]] = tuple(f"duplicate_{n}gram_ratio" for n in LENGTHS)
    reasons: ClassVar[tuple[str, ...]] = tuple(f"duplicate_{n}grams" for n in LENGTHS)
    examples: ClassVar[tuple[Example, ...]] = (
        Example("a sentence of some nine words that repeats nothing"),
        Example(_twice(5, 24), "duplicate_5grams"),
        Example(_twice(6, 31), "duplicate_6grams"),
        Example(_twice(7, 39), "duplicate_7grams"),
        Example(_twice(8, 49), "duplicate_8grams"),
        Example(_twice(9, 60), "duplicate_9grams"),
        Example(_twice(10, 74), "duplicate_10grams"),
    )

    max_ratio_5: float = Field(0.15, ge=0, le=1, description="Largest share of characters in repeated 5-grams.")
    max_ratio_6: float = Field(0.14, ge=0, le=1, description="Largest share of characters in repeated 6-grams.")
    max_ratio_7: float = Field(0.13, ge=0, le=1, description="Largest share of characters in repeated 7-grams.")
    max_ratio_8: float = Field(0.12, ge=0, le=1, description="Largest share of characters in repeated 8-grams.")
    max_ratio_9: float = Field(0.11, ge=0, le=1, description="Largest share of characters in repeated 9-grams.")
    max_ratio_10: float = Field(0.10, ge=0, le=1, description="Largest share of characters in repeated 10-grams.")

    def measure(self, text: TextView) -> dict[str, float]:
        """Return the share of repeated characters for each length."""
        return {f"duplicate_{n}gram_ratio": ratio(text.duplicate_ngram_characters(n), len(text.text)) for n in LENGTHS}

    def decide(self, signals: Signals) -> Verdict:
        """Drop for the shortest length that is repeated too much."""
        limits = (
            self.max_ratio_5, self.max_ratio_6, self.max_ratio_7, self.max_ratio_8, self.max_ratio_9, self.max_ratio_10
        )  # fmt: skip
        values = [signals[name] for name in self.signals]
        return first_drop(
            *(
                (value > limit, reason, value, limit)
                for reason, value, limit in zip(self.reasons, values, limits, strict=True)
            )
        )
