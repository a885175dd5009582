"""Drop documents that repeat their own lines.

Definition: a line seen before in the document is a duplicate (the first is not); duplicates / lines, and their
characters / characters of the text.
Source: Gopher (Rae et al. 2021), 30 % and 20 %.
"""

from typing import ClassVar

from pydantic import Field

from tasks.core.document import Verdict
from tasks.quality.base import Example, Filter, Signals, first_drop
from tasks.quality.words import TextView, ratio


class DuplicateLines(Filter):
    """Few lines are said twice."""

    name: ClassVar[str] = "duplicate_lines"
    signals: ClassVar[tuple[str, ...]] = ("duplicate_line_ratio", "duplicate_line_character_ratio")
    reasons: ClassVar[tuple[str, ...]] = ("duplicate_lines", "duplicate_line_characters")
    examples: ClassVar[tuple[Example, ...]] = (
        Example("one line here\nanother line there\na third"),
        Example("x\ny\nx\nx", "duplicate_lines"),
        Example("a\nb\nc\nd\none long line, twice\none long line, twice", "duplicate_line_characters"),
    )

    max_ratio: float = Field(0.3, ge=0, le=1, description="Largest share of lines that were there before.")
    max_character_ratio: float = Field(0.2, ge=0, le=1, description="Largest share of characters in such lines.")

    def measure(self, text: TextView) -> dict[str, float]:
        """Return the shares of duplicate lines and of their characters."""
        count, characters = text.repeated_lines
        return {
            "duplicate_line_ratio": ratio(count, len(text.lines)),
            "duplicate_line_character_ratio": ratio(characters, len(text.text)),
        }

    def decide(self, signals: Signals) -> Verdict:
        """Drop when too many lines, or too much text, is repeated."""
        lines, characters = signals["duplicate_line_ratio"], signals["duplicate_line_character_ratio"]
        return first_drop(
            (lines > self.max_ratio, "duplicate_lines", lines, self.max_ratio),
            (
                characters > self.max_character_ratio,
                "duplicate_line_characters",
                characters,
                self.max_character_ratio,
            ),
        )
