"""WARC files that an independent reader accepts."""

import io

from fastwarc.warc import ArchiveIterator, WarcRecordType

from tasks.io.warc_writer import Page, license_link, warc_bytes

DATE = "2026-01-01T00:00:00Z"
PAGES = [Page("https://a.example/1", "<p>é</p>".encode(), "MIT"), Page("https://a.example/2", b"<p>two</p>")]


def test_an_independent_reader_finds_every_page_with_right_digests() -> None:
    stream = io.BytesIO(warc_bytes("x.warc.gz", PAGES, DATE))
    found = []
    for record in ArchiveIterator(stream, record_types=WarcRecordType.response, verify_digests=True):
        headers = record.http_headers
        found.append(
            (record.headers["WARC-Target-URI"], record.reader.read(), headers.get("Link"), headers.get("Date"))
        )
    date = "Thu, 01 Jan 2026 00:00:00 GMT"
    assert found == [
        ("https://a.example/1", "<p>é</p>".encode(), '<https://spdx.org/licenses/MIT>; rel="license"', date),
        ("https://a.example/2", b"<p>two</p>", None, date),
    ]


def test_equal_pages_give_equal_bytes_and_another_page_another_record_id() -> None:
    assert warc_bytes("x", PAGES, DATE) == warc_bytes("x", list(PAGES), DATE)
    ids = {
        record.record_id
        for content in (b"a", b"b")
        for record in ArchiveIterator(io.BytesIO(warc_bytes("x", [Page("https://a.example/", content)], DATE)))
        if record.record_type == WarcRecordType.response
    }
    assert len(ids) == 2


def test_an_expression_is_quoted_in_the_link() -> None:
    assert license_link("MIT OR (A AND B)") == (
        '<https://spdx.org/licenses/MIT%20OR%20%28A%20AND%20B%29>; rel="license"'
    )
