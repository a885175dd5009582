"""Every raw document and bad record becomes a document, or is dropped with its reason.

HTML goes through trafilatura (``page``); plain text, code and JSON texts only lose control characters and odd line
ends. :func:`extract` pairs what came in with what a runner gave back for it, so the runner may work in killable child
processes: an item that it lost is dropped with the reason of the loss.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Literal, Protocol

from pydantic import Field

from configs.base import Config
from tasks.core.document import BadRecord, Document, Dropped, RawDocument, doc_id_for
from tasks.extract.charset import decode
from tasks.extract.page import ExtractedPage, clean_text, extract_html

VERSION = 1
STAGE = "extract"

HTML_TYPES = frozenset({"text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml"})
_TEXT_TYPES = frozenset(
    {"application/json", "application/xml", "application/javascript", "application/x-javascript", "application/ld+json"}
)
_UNREADABLE = frozenset({"text/dns", "text/css"})

Raw = RawDocument | BadRecord


class ExtractConfig(Config):
    """How pages become text, and the limits that one page may use."""

    mode: Literal["fast", "balanced", "precision", "recall"] = Field(
        "fast", description="trafilatura's setting: fast costs least; precision keeps less, recall keeps more."
    )
    tables: bool = Field(True, description="Keep the text of tables.")
    min_characters: int = Field(50, ge=0, description="Shortest text that is kept, in characters.")
    max_bytes: int = Field(16 << 20, ge=1, le=64 << 20, description="Largest page that is tried, in bytes.")
    cpu_seconds_per_page: float = Field(10.0, gt=0, le=3600, description="CPU time that one page may use.")
    memory_per_page_bytes: int = Field(
        1 << 30, ge=256 << 20, description="Memory that one page may use; the parser needs some to report a lack of it."
    )


class Loss(Protocol):
    """What a runner gives for an item that has no result: a reason, the value found, the limit."""

    @property
    def reason(self) -> str:
        """Why there is no result."""

    @property
    def value(self) -> str:
        """What was found."""

    @property
    def limit(self) -> str:
        """What is allowed."""


def extract_one(raw: Raw, *, source: str, snapshot: str, config: ExtractConfig) -> Document | Dropped:
    """Return the document of one raw document, or why there is none. It depends on nothing else."""
    if isinstance(raw, BadRecord):
        return _dropped(raw, source, raw.reason, raw.detail)
    if len(raw.content) > config.max_bytes:
        return _dropped(raw, source, "too_large", f"{len(raw.content)} bytes", f"{config.max_bytes} bytes")
    if not _is_text(raw.media_type):
        return _dropped(raw, source, "not_text", raw.media_type)
    try:
        page = _page(raw, config)
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - a page that breaks the extractor is a counted reason
        return _dropped(raw, source, "extractor_error", f"{type(error).__name__}: {error}")
    return _judged(raw, page, source, snapshot, config)


def extract(
    items: Iterable[Raw],
    *,
    source: str,
    run: Callable[[Iterable[Raw]], Iterator[Document | Dropped | Loss]],
) -> Iterator[Document | Dropped]:
    """Yield one document or one drop for each item, in order; ``run`` applies :func:`extract_one` to each."""
    waiting: deque[Raw] = deque()

    def watched() -> Iterator[Raw]:
        for item in items:
            waiting.append(item)
            yield item

    for result in run(watched()):
        raw = waiting.popleft()
        if isinstance(result, (Document, Dropped)):
            yield result
        else:
            yield _dropped(raw, source, result.reason, result.value, result.limit)


def _page(raw: RawDocument, config: ExtractConfig) -> ExtractedPage:
    if raw.media_type in HTML_TYPES:
        return extract_html(raw.content, raw.charset, mode=config.mode, tables=config.tables)
    return ExtractedPage(clean_text(decode(raw.content, raw.charset, html=False)), raw.title)


def _judged(
    raw: RawDocument, page: ExtractedPage, source: str, snapshot: str, config: ExtractConfig
) -> Document | Dropped:
    length = len(page.text.strip())
    if not length:
        return _dropped(raw, source, "empty_page")
    if length < config.min_characters:
        return _dropped(raw, source, "too_short", length, config.min_characters, page.text)
    return Document(
        doc_id=doc_id_for(source, raw.locator),
        source=source,
        snapshot=snapshot,
        url=raw.url,
        locator=raw.locator,
        fetched_at=raw.fetched_at,
        title=page.title or raw.title,
        license=raw.license or page.license,
        text=page.text,
        num_bytes=len(page.text.encode()),
        num_words=len(page.text.split()),
    )


def _is_text(media_type: str) -> bool:
    if media_type in HTML_TYPES or media_type in _TEXT_TYPES or media_type.endswith(("+xml", "+json")):
        return not media_type.startswith("image/")
    return media_type.startswith("text/") and media_type not in _UNREADABLE


def _dropped(raw: Raw, source: str, reason: str, value: object = "", limit: object = "", text: str = "") -> Dropped:
    url = raw.url if isinstance(raw, RawDocument) else ""
    size = len(raw.content) if isinstance(raw, RawDocument) else 0
    return Dropped(
        doc_id=doc_id_for(source, raw.locator), source=source, url=url, locator=raw.locator, stage=STAGE, reason=reason,
        value=str(value), limit=str(limit), text_head=text[:200], num_bytes=size,
    )  # fmt: skip
