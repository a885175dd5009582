"""Drop pages with program text or templates in them: prose has no curly brackets.

Definition: number of ``{`` in the text. Turn it off for code.
Source: C4 (Raffel et al. 2020), none allowed.
"""

from typing import ClassVar

from pydantic import Field

from tasks.core.document import Verdict
from tasks.quality.base import Example, Filter, Signals, first_drop
from tasks.quality.words import TextView


class CurlyBrackets(Filter):
    """No curly bracket, as in prose."""

    name: ClassVar[str] = "curly_brackets"
    signals: ClassVar[tuple[str, ...]] = ("num_curly_brackets",)
    reasons: ClassVar[tuple[str, ...]] = ("curly_bracket",)
    examples: ClassVar[tuple[Example, ...]] = (
        Example("A sentence (with an aside)."),
        Example("if (x) { return; }", "curly_bracket"),
    )

    max_brackets: int = Field(0, ge=0, description="How many opening curly brackets are allowed.")

    def measure(self, text: TextView) -> dict[str, float]:
        """Return the number of opening curly brackets."""
        return {"num_curly_brackets": float(text.text.count("{"))}

    def decide(self, signals: Signals) -> Verdict:
        """Drop when there are more than allowed."""
        value = signals["num_curly_brackets"]
        return first_drop((value > self.max_brackets, "curly_bracket", value, self.max_brackets))
