"""Counts that add up: seen = kept + Σ dropped by reason, in documents and in bytes."""

from collections import Counter
from collections.abc import Iterable
from typing import Self

from pydantic import BaseModel, ConfigDict, model_validator

from tasks.core.document import Document, Dropped


class Counts(BaseModel):
    """What one stage did to the documents of one source or input.

    ``bytes_`` are UTF-8 bytes of text; ``tokens_kept`` is 0 before tokenisation.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    seen: int = 0
    kept: int = 0
    dropped: dict[str, int] = {}
    bytes_kept: int = 0
    bytes_dropped: int = 0
    tokens_kept: int = 0

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if self.seen != self.kept + sum(self.dropped.values()):
            raise ValueError(f"seen {self.seen} is not kept {self.kept} + dropped {sum(self.dropped.values())}")
        return self

    def __add__(self, other: "Counts") -> "Counts":
        reasons = Counter(self.dropped)
        reasons.update(other.dropped)
        return Counts(
            seen=self.seen + other.seen,
            kept=self.kept + other.kept,
            dropped=dict(sorted(reasons.items())),
            bytes_kept=self.bytes_kept + other.bytes_kept,
            bytes_dropped=self.bytes_dropped + other.bytes_dropped,
            tokens_kept=self.tokens_kept + other.tokens_kept,
        )

    @classmethod
    def total(cls, parts: "Iterable[Counts]") -> "Counts":
        """Add up any number of counts."""
        return sum(parts, cls())


class Tally:
    """A running count of a stage's results; :meth:`counts` freezes it."""

    def __init__(self) -> None:
        self._kept = 0
        self._bytes_kept = 0
        self._bytes_dropped = 0
        self._reasons: Counter[str] = Counter()

    def add(self, result: Document | Dropped) -> None:
        """Count one result."""
        if isinstance(result, Document):
            self._kept += 1
            self._bytes_kept += result.num_bytes
        else:
            self._reasons[result.reason] += 1
            self._bytes_dropped += result.num_bytes

    def counts(self) -> Counts:
        """Return what was counted so far."""
        return Counts(
            seen=self._kept + self._reasons.total(),
            kept=self._kept,
            dropped=dict(sorted(self._reasons.items())),
            bytes_kept=self._bytes_kept,
            bytes_dropped=self._bytes_dropped,
        )
