"""One HTML page to text, title and licence, with trafilatura.

A pure function of the page: trafilatura's own deduplication stays off, because it would let a result depend on the
pages seen before. Lines, lists, tables and the indentation of code survive. Title and licence are read beside it:
trafilatura's full metadata would cost as much again as the text. Cost: about 15 ms of CPU a page in ``fast`` mode.
"""

import html
import logging
import re
from dataclasses import dataclass

from trafilatura import bare_extraction
from trafilatura.utils import load_html

from tasks.core.licenses import spdx_from_url
from tasks.extract.charset import decode

logging.getLogger("trafilatura").addHandler(logging.NullHandler())  # what is dropped is counted, not logged

_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ufdd0-\ufdef\ufffe\uffff]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_TITLE = re.compile(r"<title(?:\s[^<>]*)?>([^<]*)</title", re.IGNORECASE)
_STATES_LICENSE = re.compile(r"\brel\s*=\s*[\"']?[^\"'<>]{0,100}\blicense\b", re.IGNORECASE)
_LICENSE_LINKS = "//*[contains(concat(' ', normalize-space(@rel), ' '), ' license ')]/@href"
_MAX_TITLE_CHARACTERS = 300


@dataclass(frozen=True, slots=True)
class ExtractedPage:
    """The main text of a page (empty when it has none), its title, and the one licence that it links to."""

    text: str
    title: str = ""
    license: str = ""


def extract_html(content: bytes, charset: str = "", *, mode: str = "fast", tables: bool = True) -> ExtractedPage:
    """Return the main text of an HTML page; ``charset`` is the HTTP header's."""
    page = _clean_html(decode(content, charset))
    found = bare_extraction(
        page,
        fast=mode == "fast",
        favor_precision=mode == "precision",
        favor_recall=mode == "recall",
        include_comments=False,
        include_tables=tables,
        deduplicate=False,
        with_metadata=False,
    )
    text = _clean_html(found.text or "").strip("\n") if found is not None and not isinstance(found, dict) else ""
    return ExtractedPage(text, _title(page), _license(page))


def clean_text(text: str) -> str:
    r"""Return text with ``\n`` line ends, without control characters, and with lone surrogates replaced.

    Tab, form feed and the Unicode line ends (U+0085, U+2028, U+2029) are text and stay.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\x0b", "\n")
    text = _CONTROL.sub("", text)
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)


def _clean_html(text: str) -> str:
    """Clean text of a page, where form feed and U+0085 are mere white space."""
    return clean_text(text).replace("\x0c", " ").replace("\x85", "\n")


def _title(page: str) -> str:
    begin = max(0, page.find("<title"))  # the search that ignores case is slow
    found = _TITLE.search(page, begin)
    return " ".join(_clean_html(html.unescape(found[1])).split())[:_MAX_TITLE_CHARACTERS] if found else ""


def _license(page: str) -> str:
    """Return the licence of ``rel="license"`` links; two different ones are none: each may cover a part only."""
    if "license" not in page or not _STATES_LICENSE.search(page):
        return ""
    tree = load_html(page)
    links = {spdx_from_url(str(link)) for link in tree.xpath(_LICENSE_LINKS)} if tree is not None else set()
    links.discard("")
    return links.pop() if len(links) == 1 else ""
