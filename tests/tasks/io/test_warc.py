"""WARC and WET records as documents."""

import gzip
import io
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.core.document import BadRecord, RawDocument
from tasks.io.warc import license_of_links, read_warc

CASES = Path(__file__).parents[3] / ".." / "shared" / "cases"
HTML = b"<html><p>Hello world</p></html>"


def record(block: bytes, kind: str = "response", content_type: str = "application/http; msgtype=response") -> bytes:
    return (
        f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:uuid:7>\r\nWARC-Target-URI: http://a.example/\r\n"
        f"WARC-Date: 2026-01-02T03:04:05Z\r\nContent-Type: {content_type}\r\nContent-Length: {len(block)}\r\n\r\n"
    ).encode() + block + b"\r\n\r\n"  # fmt: skip


def http(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status}", *headers, "", ""]).encode("latin-1") + body


def read(content: bytes) -> list[RawDocument | BadRecord]:
    return list(read_warc(io.BytesIO(content), "a.warc"))


def one(content: bytes) -> RawDocument:
    (found,) = read(content)
    assert isinstance(found, RawDocument)
    return found


def case(name: str) -> dict[str, object]:
    path = CASES / name / "expected.json"
    if not path.exists():
        pytest.skip("the shared cases are not here")
    loaded: dict[str, object] = json.loads(path.read_text())
    return loaded


def read_case(path: str) -> tuple[list[str], list[BadRecord]]:
    with (CASES / path).open("rb") as file:
        found = list(read_warc(file, path))
    urls = [item.url for item in found if isinstance(item, RawDocument)]
    return urls, [item for item in found if isinstance(item, BadRecord)]


def test_b01_a_cut_last_member_is_a_bad_record_and_the_others_are_read() -> None:
    expected = case("B01")
    urls, bad = read_case("B01/truncated_tail.warc.gz")
    assert urls == expected["documents"]
    assert [item.reason for item in bad] == ["truncated_record"]


def test_b02_a_broken_member_in_the_middle_is_a_bad_record_and_the_others_are_read() -> None:
    expected = case("B02")
    urls, bad = read_case("B02/corrupt_middle.warc.gz")
    assert urls == expected["documents"]
    assert [item.locator.offset for item in bad] == [expected["bad_offset"]]


def test_a_response_has_its_headers_and_its_address() -> None:
    found = one(record(http(HTML, "Content-Type: text/html; charset=windows-1251")))
    assert (found.url, found.content, found.media_type, found.charset) == (
        "http://a.example/", HTML, "text/html", "windows-1251",
    )  # fmt: skip
    assert found.fetched_at == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert (found.locator.file, found.locator.offset, found.locator.record_id) == ("a.warc", 0, "urn:uuid:7")


def test_only_responses_and_conversions_are_documents() -> None:
    found = read(
        record(b"software: x", "warcinfo", "application/warc-fields")
        + record(b"GET / HTTP/1.1\r\n\r\n", "request")
        + record("Grüße".encode(), "conversion", "text/plain")
        + record(b"x", "metadata", "text/plain")
    )
    (text,) = found
    assert isinstance(text, RawDocument)
    assert (text.content.decode(), text.media_type, text.charset) == ("Grüße", "text/plain", "utf-8")


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (gzip.compress(HTML), ["Content-Encoding: gzip"]),
        (b"1f\r\n" + HTML + b"\r\n0\r\n\r\n", ["Transfer-Encoding: chunked"]),
        (HTML, ["Content-Encoding: gzip"]),
        (HTML, ["Content-Encoding: br"]),
        (HTML, ["Content-Encoding: nonsense"]),
        (HTML, ["Transfer-Encoding: chunked"]),
        (gzip.compress(HTML), ["Content-Encoding: gzip", "Transfer-Encoding: chunked"]),
    ],
)
def test_a_payload_is_decoded_when_it_is_encoded_whatever_the_header_says(body: bytes, headers: list[str]) -> None:
    assert one(record(http(body, "Content-Type: text/html", *headers))).content == HTML


@pytest.mark.parametrize("status", ["404 Not Found", "301 Moved", "500 Oops"])
def test_an_http_status_other_than_success_is_a_bad_record(status: str) -> None:
    (found,) = read(record(http(HTML, status=status)))
    assert isinstance(found, BadRecord)
    assert (found.reason, found.detail) == ("http_status", status[:3])


def test_a_response_without_http_is_a_bad_record() -> None:
    (found,) = read(record(HTML))
    assert isinstance(found, BadRecord)
    assert found.reason == "bad_http_header"


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ('<https://spdx.org/licenses/MIT>; rel="license"', "MIT"),
        ("<https://creativecommons.org/licenses/by/4.0/>; rel=license", "CC-BY-4.0"),
        ('</style.css>; rel=preload, <https://spdx.org/licenses/0BSD>; title="x"; rel="nofollow license"', "0BSD"),
        ('<https://spdx.org/licenses/MIT>; rel="next"', ""),
        ('<https://example.org/terms>; rel="license"', ""),
    ],
)
def test_the_link_header_states_the_licence(link: str, expected: str) -> None:
    assert license_of_links((link,)) == expected
    assert one(record(http(HTML, f"Link: {link}"))).license == expected


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_any_record_gives_a_document_or_a_bad_record_and_never_raises(head: bytes, body: bytes) -> None:
    for block in (head, b"HTTP/1.1 200 OK\r\n" + head + b"\r\n\r\n" + body, http(body, "Content-Encoding: gzip")):
        (found,) = read(record(block))
        assert isinstance(found, (RawDocument, BadRecord))
