"""Every format through one door, and one bad file never ends the run."""

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from tasks.core.document import BadRecord, RawDocument
from tasks.core.sources import InputFormat
from tasks.io.inputs import Input, find_inputs
from tasks.io.readers import licenses_fingerprint, read

LINES = b'{"text": "one"}\n{"text": "two"}\n'
RECORD = b"WARC/1.0\r\nWARC-Type: conversion\r\nContent-Length: 4\r\n\r\ntext\r\n\r\n"


def inputs(pattern: Path, input_format: InputFormat) -> list[Input]:
    return find_inputs("mine", [str(pattern)], input_format)


def read_all(pattern: Path, input_format: InputFormat) -> list[tuple[str, str]]:
    found = []
    for item in inputs(pattern, input_format):
        for raw in read(item):
            shown = raw.reason if isinstance(raw, BadRecord) else raw.content.decode()
            found.append((raw.locator.file, shown))
    return found


def test_json_lines_may_be_compressed(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(LINES)
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(LINES))
    (tmp_path / "c.jsonl.zst").write_bytes(zstandard.ZstdCompressor().compress(LINES))
    expected = [(name, text) for name in ("a.jsonl", "b.jsonl.gz", "c.jsonl.zst") for text in ("one", "two")]
    assert read_all(tmp_path, "jsonl") == expected


def test_a_file_that_cannot_be_read_is_one_bad_record_and_keeps_what_came_before(tmp_path: Path) -> None:
    lines = b"".join(json.dumps({"text": "x" * 1000, "id": str(number)}).encode() + b"\n" for number in range(100))
    (tmp_path / "cut.jsonl.gz").write_bytes(gzip.compress(lines, 0)[:50_000])
    (tmp_path / "other.jsonl.gz").write_bytes(b"not gzip")
    (tmp_path / "other.jsonl.zst").write_bytes(b"not zstd")
    found = read_all(tmp_path, "jsonl")
    bad = [name for name, shown in found if shown == "unreadable_file"]
    assert bad == ["cut.jsonl.gz", "other.jsonl.gz", "other.jsonl.zst"]
    assert len(found) > 40


def test_parquet_and_what_only_looks_like_it(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": ["one", "two"]}), tmp_path / "a.parquet")
    (tmp_path / "b.parquet").write_bytes(b"PAR1 not really PAR1")
    assert read_all(tmp_path, "parquet") == [
        ("a.parquet", "one"), ("a.parquet", "two"), ("b.parquet", "unreadable_file"),
    ]  # fmt: skip


def test_a_file_that_vanished_is_a_bad_record(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    (item,) = inputs(tmp_path, "text")
    (tmp_path / "a.txt").unlink()
    (found,) = read(item)
    assert isinstance(found, BadRecord)
    assert found.reason == "unreadable_file"


def test_warc_files_are_read_through_any_file_system(tmp_path: Path) -> None:
    (tmp_path / "a.warc").write_bytes(RECORD)
    (tmp_path / "b.warc.gz").write_bytes(gzip.compress(RECORD) * 2)
    assert read_all(tmp_path, "warc") == [("a.warc", "text"), ("b.warc.gz", "text"), ("b.warc.gz", "text")]


def test_a_tree_is_all_files_of_one_folder_with_the_licence_stated_at_its_top(tmp_path: Path) -> None:
    for package, spdx in (("one", "MIT"), ("two", "ISC")):
        (tmp_path / package / "sub").mkdir(parents=True)
        (tmp_path / package / "a.py").write_text("a = 1")
        (tmp_path / package / "sub" / "b.py").write_text("b = 2")
        (tmp_path / package / "REUSE.toml").write_text(
            f'version = 1\n[[annotations]]\npath = "**"\nSPDX-License-Identifier = "{spdx}"\n'
        )
    one, two = inputs(tmp_path, "tree")
    found = [raw for raw in read(two) if isinstance(raw, RawDocument)]
    assert [(raw.locator.file, raw.license) for raw in found] == [("two/a.py", "ISC"), ("two/sub/b.py", "ISC")]
    assert licenses_fingerprint(one) != licenses_fingerprint(two)


def test_formats_that_carry_their_own_licence_have_no_licence_fingerprint(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(LINES)
    assert licenses_fingerprint(inputs(tmp_path, "jsonl")[0]) == ""


@pytest.mark.parametrize("input_format", ["warc", "html", "jsonl", "parquet", "text", "tree"])
def test_an_empty_file_ends_no_run(tmp_path: Path, input_format: InputFormat) -> None:
    (tmp_path / "empty").write_bytes(b"")
    assert len(read_all(tmp_path, input_format)) == (0 if input_format == "jsonl" else 1)
