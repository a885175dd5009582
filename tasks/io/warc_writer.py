"""WARC files of response records, byte-identical for identical pages.

Record ids are UUIDs derived from address and content, dates are given, every record is its own gzip member
without a time stamp. Memory: the file.
"""

import base64
import gzip
import hashlib
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from email.utils import format_datetime
from urllib.parse import quote

_SPACE = uuid.uuid5(uuid.NAMESPACE_URL, "https://python-environment.example/")
_SOFTWARE = "software: glassworks\r\nformat: WARC File Format 1.1\r\n"


@dataclass(frozen=True, slots=True)
class Page:
    """A page as a server would send it; ``license`` is an SPDX expression for the Link header, or empty."""

    url: str
    content: bytes
    license: str = ""
    content_type: str = "text/html; charset=utf-8"


def warc_bytes(name: str, pages: Iterable[Page], date: str) -> bytes:
    """Return a gzipped WARC file called ``name``; ``date`` is ISO 8601 in UTC."""
    file = [_record("warcinfo", name, date, "application/warc-fields", _SOFTWARE.encode(), {"WARC-Filename": name})]
    for page in pages:
        headers = {"WARC-Target-URI": page.url, "WARC-Payload-Digest": _digest(page.content)}
        block = _http(page, date)
        file.append(_record("response", page.url, date, "application/http; msgtype=response", block, headers))
    return b"".join(file)


def license_link(spdx: str) -> str:
    """Return the value of an RFC 8288 Link header that names a licence, or an expression of several."""
    return f'<https://spdx.org/licenses/{quote(spdx)}>; rel="license"'


def _http(page: Page, date: str) -> bytes:
    lines = ["HTTP/1.1 200 OK", f"Date: {_http_date(date)}", f"Content-Type: {page.content_type}"]
    if page.license:
        lines.append(f"Link: {license_link(page.license)}")
    lines.append(f"Content-Length: {len(page.content)}")
    return "\r\n".join([*lines, "", ""]).encode() + page.content


def _http_date(date: str) -> str:
    return format_datetime(datetime.fromisoformat(date.replace("Z", "+00:00")), usegmt=True)


def _record(kind: str, name: str, date: str, content_type: str, block: bytes, extra: dict[str, str]) -> bytes:
    identity = uuid.uuid5(_SPACE, f"{kind} {name} {hashlib.sha256(block).hexdigest()}")
    headers = {
        "WARC-Type": kind,
        "WARC-Record-ID": f"<urn:uuid:{identity}>",
        "WARC-Date": date,
        **extra,
        "WARC-Block-Digest": _digest(block),
        "Content-Type": content_type,
        "Content-Length": str(len(block)),
    }
    head = "WARC/1.1\r\n" + "".join(f"{key}: {value}\r\n" for key, value in headers.items()) + "\r\n"
    return gzip.compress(head.encode() + block + b"\r\n\r\n", mtime=0)


def _digest(data: bytes) -> str:
    return "sha1:" + base64.b32encode(hashlib.sha1(data, usedforsecurity=False).digest()).decode()
