"""Drop documents made of short lines: menus, tables, lists.

Definition: lines of at most ``max_characters`` characters / all lines.
Source: FineWeb (Penedo et al. 2024), 67 % of lines with at most 30 characters.
"""

from typing import ClassVar

from pydantic import Field

from tasks.core.document import Verdict
from tasks.quality.base import Example, Filter, Signals, first_drop
from tasks.quality.words import TextView, ratio


class ShortLines(Filter):
    """Not too many lines are short."""

    name: ClassVar[str] = "short_lines"
    signals: ClassVar[tuple[str, ...]] = ("short_line_ratio",)
    reasons: ClassVar[tuple[str, ...]] = ("too_many_short_lines",)
    examples: ClassVar[tuple[Example, ...]] = (
        Example("short\nshort\na line that is clearly longer than thirty characters"),
        Example("short\nshort\nshort", "too_many_short_lines"),
    )

    max_ratio: float = Field(0.67, ge=0, le=1, description="Largest share of short lines.")
    max_characters: int = Field(30, ge=0, description="A line with at most this many characters is short.")

    def measure(self, text: TextView) -> dict[str, float]:
        """Return the share of short lines."""
        short = sum(len(line) <= self.max_characters for line in text.lines)
        return {"short_line_ratio": ratio(short, len(text.lines))}

    def decide(self, signals: Signals) -> Verdict:
        """Drop when too many lines are short."""
        value = signals["short_line_ratio"]
        return first_drop((value > self.max_ratio, "too_many_short_lines", value, self.max_ratio))
