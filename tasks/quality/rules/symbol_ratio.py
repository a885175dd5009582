"""Drop documents full of hash signs or ellipses.

Definition: ``#`` / words, and ``...`` or ``…`` / words.
Source: Gopher (Rae et al. 2021), 0.1 each.
"""

from typing import ClassVar

from pydantic import Field

from tasks.core.document import Verdict
from tasks.quality.base import Example, Filter, Signals, first_drop
from tasks.quality.words import TextView, ratio


class SymbolRatio(Filter):
    """Few hash signs and ellipses."""

    name: ClassVar[str] = "symbol_ratio"
    signals: ClassVar[tuple[str, ...]] = ("hashes_per_word", "ellipses_per_word")
    reasons: ClassVar[tuple[str, ...]] = ("too_many_hashes", "too_many_ellipses")
    examples: ClassVar[tuple[Example, ...]] = (
        Example("ten words of plain text make one hash sign fine #"),
        Example("#sun #sea #sand", "too_many_hashes"),
        Example("well ... you know ... maybe …", "too_many_ellipses"),
    )

    max_hashes: float = Field(0.1, ge=0, description="Most hash signs per word.")
    max_ellipses: float = Field(0.1, ge=0, description="Most ellipses per word.")

    def measure(self, text: TextView) -> dict[str, float]:
        """Return hash signs and ellipses per word."""
        ellipses = text.text.count("...") + text.text.count("…")
        return {
            "hashes_per_word": ratio(text.text.count("#"), len(text.words)),
            "ellipses_per_word": ratio(ellipses, len(text.words)),
        }

    def decide(self, signals: Signals) -> Verdict:
        """Drop when one of them is too frequent."""
        hashes, ellipses = signals["hashes_per_word"], signals["ellipses_per_word"]
        return first_drop(
            (hashes > self.max_hashes, "too_many_hashes", hashes, self.max_hashes),
            (ellipses > self.max_ellipses, "too_many_ellipses", ellipses, self.max_ellipses),
        )
