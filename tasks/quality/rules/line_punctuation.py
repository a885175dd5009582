"""Drop documents whose lines are no sentences: menus, tables, keyword lists.

Definition: lines that end in a sentence's end mark of any script, or in a closing quotation mark / all lines.
Source: FineWeb (Penedo et al. 2024), 12 %.
"""

from typing import ClassVar

from pydantic import Field

from tasks.core.document import Verdict
from tasks.quality.base import Example, Filter, Signals, first_drop
from tasks.quality.words import CLOSING_QUOTES, END_MARKS, TextView, ratio

_ENDS = tuple(END_MARKS + CLOSING_QUOTES)


class LinePunctuation(Filter):
    """Enough lines end like a sentence."""

    name: ClassVar[str] = "line_punctuation"
    signals: ClassVar[tuple[str, ...]] = ("punctuated_line_ratio",)
    reasons: ClassVar[tuple[str, ...]] = ("too_few_punctuated_lines",)
    examples: ClassVar[tuple[Example, ...]] = (
        Example("A title\nA sentence.\n他走了。"),
        Example("Home\nProducts\nContact", "too_few_punctuated_lines"),
    )

    min_ratio: float = Field(0.12, ge=0, le=1, description="Smallest share of lines that end in punctuation.")

    def measure(self, text: TextView) -> dict[str, float]:
        """Return the share of lines that end in punctuation."""
        return {"punctuated_line_ratio": ratio(sum(line.endswith(_ENDS) for line in text.lines), len(text.lines))}

    def decide(self, signals: Signals) -> Verdict:
        """Drop when too few lines end like a sentence."""
        value = signals["punctuated_line_ratio"]
        return first_drop((value < self.min_ratio, "too_few_punctuated_lines", value, self.min_ratio))
