"""Drop documents that are nearly all bullet points.

Definition: lines that start with one of the bullets / all lines. A dash starts dialogue in many languages and is none.
Source: Gopher (Rae et al. 2021), 90 %; the bullets are the common part of what public pipelines use.
"""

from typing import ClassVar

from pydantic import Field

from tasks.core.document import Verdict
from tasks.quality.base import Example, Filter, Signals, first_drop
from tasks.quality.words import TextView, ratio

BULLETS = ("•", "‣", "◦", "■", "□", "▪", "▫", "●", "*", "-")


class BulletLines(Filter):
    """Not nearly every line is a bullet point."""

    name: ClassVar[str] = "bullet_lines"
    signals: ClassVar[tuple[str, ...]] = ("bullet_line_ratio",)
    reasons: ClassVar[tuple[str, ...]] = ("too_many_bullet_lines",)
    examples: ClassVar[tuple[Example, ...]] = (
        Example("To buy:\n- bread\n- salt"),
        Example("- bread\n* salt\n• soap", "too_many_bullet_lines"),
    )

    max_ratio: float = Field(0.9, ge=0, le=1, description="Largest share of lines that start with a bullet.")

    def measure(self, text: TextView) -> dict[str, float]:
        """Return the share of lines that start with a bullet."""
        return {"bullet_line_ratio": ratio(sum(line.startswith(BULLETS) for line in text.lines), len(text.lines))}

    def decide(self, signals: Signals) -> Verdict:
        """Drop when nearly every line is a bullet point."""
        value = signals["bullet_line_ratio"]
        return first_drop((value > self.max_ratio, "too_many_bullet_lines", value, self.max_ratio))
