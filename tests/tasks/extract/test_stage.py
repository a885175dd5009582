"""Extraction: everything that comes in ends as a document or as a drop with its reason."""

import json
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.core.document import BadRecord, Document, Dropped, Locator, RawDocument, doc_id_for
from tasks.extract.stage import ExtractConfig, Raw, extract, extract_one
from tasks.io.children import Lost
from tasks.io.jsonl import read_jsonl

CASES = Path(__file__).parents[3] / ".." / "shared" / "cases"
HERE = Locator("a.warc", 7, "r1")
one = partial(extract_one, source="web", snapshot="s1", config=ExtractConfig())


def raw(content: bytes, media_type: str = "text/plain", **fields: str) -> RawDocument:
    return RawDocument(HERE, "http://a/", content, media_type, **fields)  # type: ignore[arg-type]


def dropped(result: Document | Dropped) -> tuple[str, str, str]:
    assert isinstance(result, Dropped)
    assert (result.doc_id, result.stage) == (doc_id_for("web", result.locator), "extract")
    return result.reason, result.value, result.limit


def kept(result: Document | Dropped) -> Document:
    assert isinstance(result, Document)
    return result


def test_49_characters_are_dropped_and_50_are_kept() -> None:
    """R-3.1-11."""
    assert dropped(one(raw(b"x" * 49))) == ("too_short", "49", "50")
    assert dropped(one(raw(b" \n" + b"x" * 49 + b"\n "))) == ("too_short", "49", "50")
    assert kept(one(raw(b"x" * 50))).text == "x" * 50


def test_a_document_has_its_labels_and_sizes() -> None:
    text = "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich."
    found = kept(one(raw(text.encode("cp1252"), charset="windows-1252", license="MIT", title="T")))
    assert (found.text, found.num_bytes, found.num_words) == (text, len(text.encode()), 10)
    assert (found.license, found.title, found.source, found.snapshot) == ("MIT", "T", "web", "s1")
    assert found.doc_id == doc_id_for("web", HERE)


def test_html_has_the_licence_of_its_header_before_that_of_its_links() -> None:
    page = b'<p>%s</p><a rel="license" href="https://spdx.org/licenses/ISC">x</a>' % (b"Many words make a page. " * 9)
    assert kept(one(raw(page, "text/html"))).license == "ISC"
    assert kept(one(raw(page, "text/html", license="MIT"))).license == "MIT"


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        (raw(b""), "empty_page"),
        (raw(b" \n\0 "), "empty_page"),
        (raw(b"", "text/html"), "empty_page"),
        (raw(b"<html></html>", "text/html"), "empty_page"),
        (raw(b"%PDF-1.7", "application/pdf"), "not_text"),
        (raw(b"<svg/>", "image/svg+xml"), "not_text"),
        (BadRecord(HERE, "truncated_record", "3 of 5 bytes"), "truncated_record"),
    ],
)
def test_what_is_no_document_is_dropped_with_its_reason(item: Raw, reason: str) -> None:
    assert dropped(one(item))[0] == reason


def test_a_page_above_the_size_limit_is_not_tried() -> None:
    config = ExtractConfig(max_bytes=100)
    result = extract_one(raw(b"x" * 101), source="web", snapshot="", config=config)
    assert dropped(result) == ("too_large", "101 bytes", "100 bytes")
    assert kept(extract_one(raw(b"x" * 100), source="web", snapshot="", config=config))


def test_a_page_that_breaks_the_extractor_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RecursionError("too deep")

    monkeypatch.setattr("tasks.extract.stage.extract_html", broken)
    assert dropped(one(raw(b"<p>", "text/html"))) == ("extractor_error", "RecursionError: too deep", "")


def test_b18_texts_of_json_lines_are_unchanged() -> None:
    path = CASES / "B18" / "odd_separators.jsonl"
    if not path.exists():
        pytest.skip("the shared cases are not here")
    config = ExtractConfig(min_characters=0)
    with path.open("rb") as file:
        results = [extract_one(item, source="web", snapshot="", config=config) for item in read_jsonl(file, "b18")]
    texts = [json.loads(line)["text"] for line in path.read_bytes().split(b"\n") if line]
    assert [kept(result).text for result in results] == texts


def test_what_the_runner_loses_is_dropped_in_its_place() -> None:
    items = [raw(b"x" * 60), raw(b"y" * 60), raw(b"z" * 60)]

    def run(given_items: Iterable[Raw]) -> Iterator[Document | Dropped | Lost]:
        for number, item in enumerate(given_items):
            yield Lost("timeout", "10.2 CPU s", "10 CPU s") if number == 1 else one(item)

    first, second, third = extract(items, source="web", run=run)
    assert (kept(first).text[0], kept(third).text[0]) == ("x", "z")
    assert dropped(second) == ("timeout", "10.2 CPU s", "10 CPU s")


@given(st.binary(max_size=300), st.sampled_from(["text/html", "text/plain", "application/xhtml+xml", "image/png", ""]))
def test_any_bytes_give_a_document_or_a_drop(content: bytes, media_type: str) -> None:
    result = one(raw(content, media_type))
    assert isinstance(result, (Document, Dropped))
