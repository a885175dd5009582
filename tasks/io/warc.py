"""WARC and WET files to raw documents: only responses and conversions are documents, all else is skipped.

The framing (what a record is, also in damaged files) is in ``framing``; fastwarc parses each record, its HTTP headers
and transfer and content encodings. A response whose encoding is not what its header says is taken as it is.
"""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import IO, Literal

from fastwarc.warc import WarcRecord, WarcRecordType

from tasks.core.document import BadRecord, Locator, RawDocument
from tasks.core.licenses import spdx_from_url
from tasks.io.fields import MAX_CONTENT_BYTES, utc_time
from tasks.io.framing import Frame, frames

_WANTED = (WarcRecordType.response, WarcRecordType.conversion)
_DECODINGS: tuple[Literal["all", "content", "transfer", "none"], ...] = ("all", "content", "transfer", "none")
_HTTP_MIN_SUCCESS, _HTTP_MAX_SUCCESS = 200, 299
_LINK = re.compile(r"<([^<>]*)>([^<]*)")
_REL_LICENSE = re.compile(r";\s*rel\s*=\s*\"?[^\";]*\blicense\b", re.IGNORECASE)


def read_warc(file: IO[bytes], name: str) -> Iterator[RawDocument | BadRecord]:
    """Yield the documents of a seekable WARC file, and a :class:`BadRecord` for each place that is damaged."""
    for frame in frames(file, name):
        if isinstance(frame, BadRecord):
            yield frame
        elif (found := _read(frame, name)) is not None:
            yield found


def license_of_links(values: tuple[str, ...]) -> str:
    """Return the SPDX expression of an HTTP ``Link: <…>; rel="license"`` header, or an empty text."""
    for value in values:
        for address, parameters in _LINK.findall(value):
            if _REL_LICENSE.search(parameters) and (spdx := spdx_from_url(address)):
                return spdx
    return ""


def _read(frame: Frame, name: str) -> RawDocument | BadRecord | None:
    locator = Locator(name, frame.offset, f"@{frame.position}" if frame.position else "")
    try:
        record = WarcRecord.from_bytes(frame.content)
        if record.record_type not in _WANTED:
            return None
        locator = Locator(name, frame.offset, (record.record_id or locator.record_id).strip("<>"))
        if record.record_type == WarcRecordType.conversion:
            return _conversion(record, locator)
        return _response(record, frame, locator)
    except (OSError, ValueError) as error:
        return BadRecord(locator, "bad_warc_record", str(error))


def _conversion(record: WarcRecord, locator: Locator) -> RawDocument:
    content = record.reader.read(MAX_CONTENT_BYTES + 1)
    return RawDocument(locator, _url(record), content, "text/plain", "utf-8", _date(record))


def _response(record: WarcRecord, frame: Frame, locator: Locator) -> RawDocument | BadRecord:
    if not record.is_http:
        media_type = (record.headers.get("Content-Type") or "").partition(";")[0].strip().lower()
        content = record.reader.read(MAX_CONTENT_BYTES + 1)
        return RawDocument(locator, _url(record), content, media_type, "", _date(record))
    parsed, content = _decoded(record, frame.content)
    headers = parsed.http_headers
    status = headers.status_code
    if status is None:
        return BadRecord(locator, "bad_http_header")
    if not _HTTP_MIN_SUCCESS <= status <= _HTTP_MAX_SUCCESS:
        return BadRecord(locator, "http_status", str(status))
    media_type = parsed.http_content_type or record.headers.get("WARC-Identified-Payload-Type") or "text/html"
    license_found = license_of_links(headers.get_multiple("Link"))
    return RawDocument(
        locator, _url(record), content, media_type.strip().lower(), parsed.http_charset or "", _date(record),
        license=license_found,
    )  # fmt: skip


def _decoded(record: WarcRecord, content: bytes) -> tuple[WarcRecord, bytes]:
    """Return the record with HTTP headers parsed, and its payload without transfer and content encoding."""
    for decoding in _DECODINGS:
        try:
            record.parse_http(auto_decode=decoding, quirks_mode=True)
            return record, record.reader.read(MAX_CONTENT_BYTES + 1)
        except OSError:
            if decoding == _DECODINGS[-1]:
                raise
            record = WarcRecord.from_bytes(content)
    raise AssertionError("the last decoding returns or raises")


def _url(record: WarcRecord) -> str:
    return (record.headers.get("WARC-Target-URI") or "").strip("<> ")


def _date(record: WarcRecord) -> datetime | None:
    return utc_time(record.headers.get("WARC-Date") or "")
