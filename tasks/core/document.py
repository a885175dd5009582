"""The whole domain in one file: what is fetched, what is kept, what is dropped.

A *raw document* is bytes as fetched. A *document* is extracted text with its address and its signals.
A *dropped* document keeps its address and the reason with its numbers. Every raw document ends as one of
the latter two.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Self

TEXT_HEAD_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Locator:
    """Where the bytes are: file (relative to its input root, or a URL), byte offset, record id."""

    file: str
    offset: int
    record_id: str = ""


@dataclass(frozen=True, slots=True)
class RawDocument:
    """Bytes as fetched. ``charset`` is the HTTP header's; ``license`` an SPDX expression or empty."""

    locator: Locator
    url: str
    content: bytes
    media_type: str = "text/html"
    charset: str = ""
    fetched_at: datetime | None = None
    title: str = ""
    license: str = ""


@dataclass(frozen=True, slots=True)
class BadRecord:
    """A record that could not be read: counted and set aside with its byte offset."""

    locator: Locator
    reason: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """Extracted text with its address, labels and signals (``signals``: name -> number)."""

    doc_id: bytes
    source: str
    snapshot: str
    url: str
    locator: Locator
    fetched_at: datetime | None
    title: str
    license: str
    text: str
    language: str = ""
    language_score: float = 0.0
    num_bytes: int = 0
    num_words: int = 0
    signals: Mapping[str, float] = field(default_factory=dict)

    def with_text(self, text: str) -> Self:
        """Return a copy with another text and its size in UTF-8 bytes."""
        return replace(self, text=text, num_bytes=len(text.encode()))


@dataclass(frozen=True, slots=True)
class Dropped:
    """A document that goes: stage and reason, the value found and the limit it broke."""

    doc_id: bytes
    source: str
    url: str
    locator: Locator
    stage: str
    reason: str
    value: str = ""
    limit: str = ""
    duplicate_of: bytes | None = None
    text_head: str = ""
    num_bytes: int = 0

    @classmethod
    def of(cls, document: Document, stage: str, verdict: "Verdict", duplicate_of: bytes | None = None) -> Self:
        """Drop ``document`` for the reason in ``verdict``."""
        return cls(
            document.doc_id, document.source, document.url, document.locator, stage, verdict.reason, verdict.value,
            verdict.limit, duplicate_of, document.text[:TEXT_HEAD_CHARACTERS], document.num_bytes,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Verdict:
    """Keep, or drop because of a reason. It refuses to be used as a boolean: ask ``.keep``."""

    keep: bool
    reason: str = ""
    value: str = ""
    limit: str = ""

    @classmethod
    def drop(cls, reason: str, value: object = "", limit: object = "") -> Self:
        """Drop; ``value`` is what was found, ``limit`` what is allowed."""
        return cls(False, reason, _plain(value), _plain(limit))

    def __bool__(self) -> bool:
        raise TypeError("a Verdict is not a boolean; ask .keep")


KEEP = Verdict(True)


def doc_id_for(source: str, locator: Locator) -> bytes:
    """Return the 128-bit id of a document: BLAKE2b of source name and locator.

    The same bytes at the same place in the same source have the same id on every machine.
    """
    digest = hashlib.blake2b(digest_size=16)
    for part in (source, locator.file, str(locator.offset), locator.record_id):
        data = part.encode(errors="surrogatepass")
        digest.update(len(data).to_bytes(4, "big") + data)
    return digest.digest()


def kept_and_dropped(results: Iterable[Document | Dropped]) -> tuple[list[Document], list[Dropped]]:
    """Split a stage's results (for tests and small inputs)."""
    kept: list[Document] = []
    dropped: list[Dropped] = []
    for result in results:
        if isinstance(result, Document):
            kept.append(result)
        else:
            dropped.append(result)
    return kept, dropped


def _plain(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
