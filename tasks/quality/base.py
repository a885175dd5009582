"""What a filter is: frozen settings with two pure methods. One file in ``rules`` makes a filter.

``measure`` turns a text into named numbers (signals), ``decide`` turns numbers into a verdict: limits can change
without reading the text again. A filter registers itself when its class is made; an incomplete one, or a name used
twice, fails there. Cost of the registry: none at run time.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import Field

from configs.base import Config
from tasks.core.document import KEEP, Verdict
from tasks.quality.words import TextView

Signals = Mapping[str, float]
REGISTRY: dict[str, type["Filter"]] = {}
"""Every filter by name."""


@dataclass(frozen=True, slots=True)
class Example:
    """A text and what the filter's defaults say about it: a reason to drop, or None to keep."""

    text: str
    reason: str | None = None


class Filter(Config, ABC):
    """Base of all filters. A reason names what is wrong with the document, not the setting."""

    name: ClassVar[str]
    signals: ClassVar[tuple[str, ...]]
    reasons: ClassVar[tuple[str, ...]]
    examples: ClassVar[tuple[Example, ...]]

    enabled: bool = Field(True, description="Off: the filter neither measures nor drops.")

    @abstractmethod
    def measure(self, text: TextView) -> dict[str, float]:
        """Return a number for each of ``signals``."""

    @abstractmethod
    def decide(self, signals: Signals) -> Verdict:
        """Keep, or drop for one of ``reasons``."""

    @classmethod
    def __pydantic_init_subclass__(cls, **arguments: Any) -> None:  # noqa: ANN401 - pydantic's signature
        super().__pydantic_init_subclass__(**arguments)
        _register(cls)


def first_drop(*checks: tuple[bool, str, float, float]) -> Verdict:
    """Return a drop for the first broken check ``(broken, reason, value, limit)``, or keep."""
    for broken, reason, value, limit in checks:
        if broken:
            return Verdict.drop(reason, value, limit)
    return KEEP


def _register(kind: type[Filter]) -> None:
    missing = [part for part in ("name", "signals", "reasons", "examples") if not hasattr(kind, part)]
    if missing:
        raise TypeError(f"{kind.__module__}.{kind.__name__}: a filter needs {', '.join(missing)}")
    other = REGISTRY.get(kind.name)
    if other is not None:
        raise TypeError(f"filter name {kind.name!r} is used twice: in {other.__module__} and in {kind.__module__}")
    for taken in REGISTRY.values():
        both = set(taken.signals) & set(kind.signals)
        if both:
            raise TypeError(f"signals {sorted(both)} are measured twice: in {taken.__module__} and {kind.__module__}")
    REGISTRY[kind.name] = kind
