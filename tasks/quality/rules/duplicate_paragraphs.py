"""Drop documents that repeat their own paragraphs.

Definition: a paragraph seen before in the document is a duplicate (the first is not); duplicates / paragraphs, and
their characters / characters of the text.
Source: Gopher (Rae et al. 2021), 30 % and 20 %.
"""

from typing import ClassVar

from pydantic import Field

from tasks.core.document import Verdict
from tasks.quality.base import Example, Filter, Signals, first_drop
from tasks.quality.words import TextView, ratio, repeated


class DuplicateParagraphs(Filter):
    """Few paragraphs are said twice."""

    name: ClassVar[str] = "duplicate_paragraphs"
    signals: ClassVar[tuple[str, ...]] = ("duplicate_paragraph_ratio", "duplicate_paragraph_character_ratio")
    reasons: ClassVar[tuple[str, ...]] = ("duplicate_paragraphs", "duplicate_paragraph_characters")
    examples: ClassVar[tuple[Example, ...]] = (
        Example("one paragraph\n\nanother paragraph\n\na third"),
        Example("x\n\ny\n\nx\n\nx", "duplicate_paragraphs"),
        Example("a\n\nb\n\nc\n\nd\n\nlong one,\ntwo lines\n\nlong one,\ntwo lines", "duplicate_paragraph_characters"),
    )

    max_ratio: float = Field(0.3, ge=0, le=1, description="Largest share of paragraphs that were there before.")
    max_character_ratio: float = Field(0.2, ge=0, le=1, description="Largest share of characters in such paragraphs.")

    def measure(self, text: TextView) -> dict[str, float]:
        """Return the shares of duplicate paragraphs and of their characters."""
        count, characters = repeated(text.paragraphs)
        return {
            "duplicate_paragraph_ratio": ratio(count, len(text.paragraphs)),
            "duplicate_paragraph_character_ratio": ratio(characters, len(text.text)),
        }

    def decide(self, signals: Signals) -> Verdict:
        """Drop when too many paragraphs, or too much text, is repeated."""
        parts, characters = signals["duplicate_paragraph_ratio"], signals["duplicate_paragraph_character_ratio"]
        return first_drop(
            (parts > self.max_ratio, "duplicate_paragraphs", parts, self.max_ratio),
            (
                characters > self.max_character_ratio,
                "duplicate_paragraph_characters",
                characters,
                self.max_character_ratio,
            ),
        )
