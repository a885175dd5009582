"""Judge documents: measure the signals of every enabled filter, then drop for the first reason in order of name.

Property: one document's verdict depends on its text and the profile alone; each result carries every signal that the
profile measures. Method: one view per text shares words, lines and n-grams between the filters. Cost: about a
millisecond of CPU per web page.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pydantic import Field, create_model

from configs.base import Config
from tasks.core.document import KEEP, Document, Dropped, Verdict
from tasks.quality.base import Filter
from tasks.quality.rules import REGISTRY
from tasks.quality.words import TextView

VERSION = 1
STAGE = "quality"
SIGNALS = tuple(sorted(signal for kind in REGISTRY.values() for signal in kind.signals))
"""The names of all signals of all filters."""


def _filter_fields() -> dict[str, Any]:
    return {name: (kind, Field(default_factory=kind, title=name)) for name, kind in sorted(REGISTRY.items())}


if TYPE_CHECKING:

    class Filters(Config):
        """Every filter by its name, as one settings section."""

else:
    Filters = create_model(
        "Filters", __base__=Config, __module__=__name__, __doc__="Every filter by its name.", **_filter_fields()
    )


class QualityProfile(Config):
    """The filters that judge a kind of text (prose, code, a language), by a name that sources refer to."""

    name: str = Field("prose", pattern=r"^[a-z0-9][a-z0-9_-]*$", description="Name that sources refer to.")
    filters: Filters = Field(default_factory=Filters, description="Limits of each filter; enabled: false turns it off.")


def filters_of(profile: QualityProfile) -> tuple[Filter, ...]:
    """Return the enabled filters in the order in which they decide: by name."""
    every: list[Filter] = [getattr(profile.filters, name) for name in sorted(REGISTRY)]
    return tuple(item for item in every if item.enabled)


def judge(documents: Iterable[Document], profile: QualityProfile) -> Iterator[Document | Dropped]:
    """Annotate each document with its signals and number of words; keep it, or drop it with a reason."""
    filters = filters_of(profile)
    for document in documents:
        text = TextView(document.text)
        signals: dict[str, float] = {}
        for item in filters:
            signals.update(item.measure(text))
        verdict = _verdict(filters, signals)
        if verdict.keep:
            yield replace(document, num_words=len(text.words), signals=signals)
        else:
            yield Dropped.of(document, STAGE, verdict)


def _verdict(filters: Iterable[Filter], signals: dict[str, float]) -> Verdict:
    verdicts = (item.decide(signals) for item in filters)
    return next((verdict for verdict in verdicts if not verdict.keep), KEEP)
