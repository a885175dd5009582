"""What a crawl of a Python environment takes: settings, choices in a fixed order, and what it reports.

Choices depend on names and sizes only, so equal environments give equal crawls. Cost: a sort per distribution.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field

from configs.base import Config, execution_field

VERSION = 1
SOURCES = ("web", "code", "reference", "books")
OWN_NAME = "glassworks"

_FIRST = (
    "python networkx numpy sympy scikit-learn pandas scipy hypothesis sqlalchemy matplotlib pydantic docutils jinja2"
    " werkzeug flask requests httpx rich click pillow joblib python-dateutil attrs fsspec torch"
).split()

T = TypeVar("T")


class CrawlConfig(Config):
    """How much of the environment becomes input, and what comes first."""

    first: list[str] = Field(
        _FIRST,
        description="Distributions to take first, in this order; the others follow by name. python: standard library.",
    )
    web_pages: int = Field(450, ge=0, description="Most pages of module documentation.")
    web_pages_per_distribution: int = Field(12, ge=1, description="Most pages of one distribution.")
    web_pages_of_python: int = Field(210, ge=0, description="Most pages of the standard library.")
    web_page_bytes: int = Field(120_000, ge=1000, description="Larger pages are left out.")
    min_docstring_bytes: int = Field(1500, ge=0, description="Modules with fewer bytes of docstrings are left out.")
    web_files: int = Field(8, ge=1, le=1000, description="WARC files: what can be worked on in parallel.")
    code_bytes: int = Field(6_000_000, ge=0, description="Most bytes of source code.")
    code_bytes_per_distribution: int = Field(
        800_000, ge=1000, description="Most bytes of source code of one distribution."
    )
    reference_files: int = Field(4, ge=1, le=1000, description="JSON-lines files with package descriptions.")
    books_bytes: int = Field(4_000_000, ge=0, description="Most bytes of long texts.")
    book_shelves: int = Field(4, ge=1, le=1000, description="Folders of books: what can be worked on in parallel.")
    book_min_bytes: int = Field(12_000, ge=0, description="Shorter texts are no books.")
    book_description_bytes: int = Field(
        40_000, ge=0, description="Package descriptions of this size go to the books, not to the reference."
    )
    fetched_at: str = Field(
        "2026-01-01T00:00:00Z",
        pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$",
        description="Date of fetch to write; fixed, so that equal environments give equal bytes.",
    )
    module_cpu_seconds: float = Field(
        10.0, gt=0, description="CPU seconds one module may take to render, import included."
    )
    processes: int = execution_field(2, ge=1, le=64, description="Modules rendered at the same time.")


class SourceSummary(BaseModel):
    """What one source got."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    num_files: int = 0
    num_documents: int = 0
    num_bytes: int = 0


class CrawlSummary(BaseModel):
    """What a crawl found. ``licenses`` counts distributions; those without a known licence are in ``unlicensed``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    fingerprint: str
    sources: dict[str, SourceSummary]
    skipped_modules: dict[str, str]
    licenses: dict[str, int]
    unlicensed: list[str]
    reused: bool = False


def in_order(names: Iterable[str], first: Sequence[str]) -> list[str]:
    """Sort distribution names: those of ``first`` in its order, then the others by name."""
    place = {name: number for number, name in enumerate(first)}
    return sorted(names, key=lambda name: (place.get(name, len(place)), name))


def best_modules(modules: Mapping[str, int], most: int, min_bytes: int) -> list[str]:
    """Choose the modules with most documentation, and return them by name."""
    ranked = sorted(modules, key=lambda name: (-modules[name], name))
    return sorted(name for name in ranked[:most] if modules[name] >= min_bytes)


def within(sizes: Mapping[T, int], limit: int) -> list[T]:
    """Take items in their order as long as they fit into ``limit``; items that do not fit are passed over."""
    taken: list[T] = []
    total = 0
    for item, size in sizes.items():
        if total + size <= limit:
            taken.append(item)
            total += size
    return taken


def dealt(items: Sequence[T], hands: int) -> list[list[T]]:
    """Deal items out in turn, so that every hand gets a fair share; empty hands are left out."""
    return [hand for number in range(hands) if (hand := list(items[number::hands]))]


def reuse_toml(licenses: Mapping[str, str]) -> str:
    """Return a REUSE.toml (REUSE 3.x) with one annotation per folder; folders without a licence have none."""
    tables = [
        f'[[annotations]]\npath = "{folder}/**"\nSPDX-License-Identifier = "{spdx}"\n'
        for folder, spdx in sorted(licenses.items())
        if spdx
    ]
    return "\n".join(["version = 1\n", *tables])
