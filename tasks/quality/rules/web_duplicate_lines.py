"""Drop web pages that repeat lines, as lists of posts and menus do.

Definition: characters of lines seen before / characters of the text without newlines. The limit is harsh outside the
web: turn it off for code, poems and books.
Source: FineWeb (Penedo et al. 2024), 1 % (its table and code; its text says 10 %).
"""

from typing import ClassVar

from pydantic import Field

from tasks.core.document import Verdict
from tasks.quality.base import Example, Filter, Signals, first_drop
from tasks.quality.words import TextView, ratio


class WebDuplicateLines(Filter):
    """Next to no text is in repeated lines."""

    name: ClassVar[str] = "web_duplicate_lines"
    signals: ClassVar[tuple[str, ...]] = ("web_duplicate_line_character_ratio",)
    reasons: ClassVar[tuple[str, ...]] = ("web_duplicate_line_characters",)
    examples: ClassVar[tuple[Example, ...]] = (
        Example("one line\nanother line"),
        Example("a long line that is there once only\nReply\nReply", "web_duplicate_line_characters"),
    )

    max_ratio: float = Field(0.01, ge=0, le=1, description="Largest share of characters in repeated lines.")

    def measure(self, text: TextView) -> dict[str, float]:
        """Return the share of characters in repeated lines."""
        whole = len(text.text) - text.text.count("\n")
        return {"web_duplicate_line_character_ratio": ratio(text.repeated_lines[1], whole)}

    def decide(self, signals: Signals) -> Verdict:
        """Drop when more than the limit is repeated."""
        value = signals["web_duplicate_line_character_ratio"]
        return first_drop((value > self.max_ratio, "web_duplicate_line_characters", value, self.max_ratio))
