"""Drop documents whose lines are cut short: teasers and link lists.

Definition: lines that end in ``...`` or ``…`` / all lines.
Source: Gopher (Rae et al. 2021), 30 %.
"""

from typing import ClassVar

from pydantic import Field

from tasks.core.document import Verdict
from tasks.quality.base import Example, Filter, Signals, first_drop
from tasks.quality.words import TextView, ratio


class EllipsisLines(Filter):
    """Few lines end in an ellipsis."""

    name: ClassVar[str] = "ellipsis_lines"
    signals: ClassVar[tuple[str, ...]] = ("ellipsis_line_ratio",)
    reasons: ClassVar[tuple[str, ...]] = ("too_many_ellipsis_lines",)
    examples: ClassVar[tuple[Example, ...]] = (
        Example("One.\nTwo.\nThree.\nAnd so on …"),
        Example("Read more...\nAnd more …\nEnd.", "too_many_ellipsis_lines"),
    )

    max_ratio: float = Field(0.3, ge=0, le=1, description="Largest share of lines that end in an ellipsis.")

    def measure(self, text: TextView) -> dict[str, float]:
        """Return the share of lines that end in an ellipsis."""
        return {"ellipsis_line_ratio": ratio(sum(line.endswith(("...", "…")) for line in text.lines), len(text.lines))}

    def decide(self, signals: Signals) -> Verdict:
        """Drop when too many lines are cut short."""
        value = signals["ellipsis_line_ratio"]
        return first_drop((value > self.max_ratio, "too_many_ellipsis_lines", value, self.max_ratio))
