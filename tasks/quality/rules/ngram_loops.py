"""Drop documents that say the same few words over and over, which destabilises training.

Definition: for periods of 1 to 13 words, how often a run of that many words follows itself without a break, the first
time included; the largest of these.
Source: OLMo 2 (2025), fewer than 32 times; there over tokens, here over words.
"""

from typing import ClassVar

import numpy as np
from pydantic import Field

from tasks.core.document import Verdict
from tasks.quality.base import Example, Filter, Signals, first_drop
from tasks.quality.words import Integers, TextView

MAX_PERIOD = 13


def most_repeats(ids: Integers) -> int:
    """Return how often the most repeated run of at most 13 numbers follows itself."""
    if not len(ids):
        return 0
    most = 1
    for period in range(1, MAX_PERIOD + 1):
        equal = ids[period:] == ids[:-period]
        if np.count_nonzero(equal) // period + 1 <= most:
            continue
        breaks = np.flatnonzero(np.concatenate(([True], ~equal, [True])))
        most = max(most, (int(np.diff(breaks).max()) - 1) // period + 1)
    return most


class NgramLoops(Filter):
    """No run of words is repeated many times in a row."""

    name: ClassVar[str] = "ngram_loops"
    signals: ClassVar[tuple[str, ...]] = ("most_ngram_repeats",)
    reasons: ClassVar[tuple[str, ...]] = ("ngram_loop",)
    examples: ClassVar[tuple[Example, ...]] = (
        Example("seven " * 31),
        Example("seven " * 32, "ngram_loop"),
        Example("seven eight " * 32, "ngram_loop"),
    )

    max_repeats: int = Field(31, ge=1, description="How often a run of 1 to 13 words may follow itself.")

    def measure(self, text: TextView) -> dict[str, float]:
        """Return the largest number of repeats."""
        return {"most_ngram_repeats": float(most_repeats(text.word_ids))}

    def decide(self, signals: Signals) -> Verdict:
        """Drop when some run is repeated too often."""
        value = signals["most_ngram_repeats"]
        return first_drop((value > self.max_repeats, "ngram_loop", value, self.max_repeats))
