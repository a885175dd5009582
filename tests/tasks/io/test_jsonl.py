"""JSON lines and Parquet rows as documents."""

import io
import json
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.core.document import BadRecord, RawDocument
from tasks.io.jsonl import read_jsonl, read_parquet

CASES = Path(__file__).parents[3] / ".." / "shared" / "cases"


def read(content: bytes) -> list[RawDocument | BadRecord]:
    return list(read_jsonl(io.BytesIO(content), "a.jsonl"))


def parquet(table: pa.Table) -> list[RawDocument | BadRecord]:
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return list(read_parquet(io.BytesIO(sink.getvalue()), "a.parquet"))


def texts(found: list[RawDocument | BadRecord]) -> list[str]:
    return [item.content.decode() for item in found if isinstance(item, RawDocument)]


def test_b18_only_a_line_feed_ends_a_line() -> None:
    path = CASES / "B18"
    if not path.exists():
        pytest.skip("the shared cases are not here")
    content = (path / "odd_separators.jsonl").read_bytes()
    found = read(content)
    expected = json.loads((path / "expected.json").read_text())
    assert [item.locator.record_id for item in found] == expected["ids"]
    assert texts(found) == [json.loads(line)["text"] for line in content.split(b"\n") if line]


def test_all_fields_are_taken() -> None:
    line = {"text": "T", "url": "http://a/", "title": "A", "license": "MIT", "fetched_at": "2026-01-02", "id": 7}
    (found,) = read(json.dumps(line).encode())
    assert isinstance(found, RawDocument)
    assert (found.url, found.title, found.license, found.locator.record_id) == ("http://a/", "A", "MIT", "7")
    assert found.fetched_at == datetime(2026, 1, 2, tzinfo=UTC)
    assert (found.media_type, found.charset) == ("text/plain", "utf-8")


def test_bad_lines_are_bad_records_with_their_byte_offset_and_the_rest_is_read() -> None:
    """R-3.1-15."""
    lines = [
        b'{"text": "one"}',
        b'{"text": "cut',
        b"",
        b'{"no": 1}',
        b'{"text": null}',
        b"[1]",
        b"\xff",
        b'{"text": "two"}',
    ]
    content = b"\n".join(lines)
    found = read(content)
    bad = [(item.locator.offset, item.reason) for item in found if isinstance(item, BadRecord)]
    starts = [len(b"\n".join(lines[:index])) + 1 for index in range(len(lines))]
    assert texts(found) == ["one", "two"]
    assert bad == [
        (starts[1], "bad_json"), (starts[3], "no_text"), (starts[4], "no_text"), (starts[5], "bad_json"),
        (starts[6], "bad_json"),
    ]  # fmt: skip


def test_a_byte_order_mark_and_lone_surrogates_cost_nothing() -> None:
    assert texts(read(b'\xef\xbb\xbf{"text": "a\\ud800b"}\n')) == ["a\ufffdb"]


def test_a_line_that_is_too_long_is_a_bad_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tasks.io.jsonl._MAX_LINE_BYTES", 32)
    long = json.dumps({"text": "x" * 100}).encode()
    found = read(long + b'\n{"text": "next"}')
    assert isinstance(found[0], BadRecord)
    assert found[0].reason == "line_too_long"
    assert texts(found) == ["next"]
    assert found[1].locator.offset == len(long) + 1


@given(st.lists(st.text(st.characters(codec="utf-8"))))
def test_texts_survive_a_round_trip(written: list[str]) -> None:
    content = "\n".join(json.dumps({"text": text}, ensure_ascii=False) for text in written).encode()
    assert texts(read(content)) == written


@given(st.binary(max_size=200))
def test_any_bytes_give_documents_or_bad_records_and_never_raise(content: bytes) -> None:
    lines = [line for line in content.split(b"\n") if line.strip()]
    assert len(read(content)) <= len(lines)
    read(b'{"text": ' + content + b"}")


def test_parquet_rows_are_documents_and_missing_texts_bad_records() -> None:
    table = pa.table({"text": ["one", None, "two"], "url": ["http://a/", "http://b/", None], "other": [1, 2, 3]})
    found = parquet(table)
    assert texts(found) == ["one", "two"]
    assert [item.locator.offset for item in found] == [0, 1, 2]
    assert isinstance(found[1], BadRecord)
    assert texts(parquet(pa.table({"text": [b"caf\xc3\xa9"]}))) == ["café"]


def test_parquet_without_a_text_column_is_one_bad_record() -> None:
    (found,) = parquet(pa.table({"content": ["one"]}))
    assert isinstance(found, BadRecord)
    assert found.detail == "no column `text` among content"
