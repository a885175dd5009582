"""Extraction into the store: hard pages cost themselves, and a second run finds the work done."""

import gzip
import json
from pathlib import Path

import pytest

from tasks.core.sources import InputFormat
from tasks.extract.run import extract_to_store
from tasks.extract.stage import ExtractConfig
from tasks.io.documents import StageOutput, read_documents, read_dropped
from tasks.io.inputs import find_inputs
from tasks.io.store import Store

CASES = Path(__file__).parents[3] / ".." / "shared" / "cases"
TEXT = "The ferry to the north island leaves at seven, and the crew loads the mail bags first."
HTML = f"<html><body><article><h1>Ferry</h1><p>{TEXT}</p><p>{TEXT}</p></article></body></html>"


def run(
    store: Store, pattern: Path, input_format: InputFormat, config: ExtractConfig | None = None
) -> list[StageOutput]:
    items = find_inputs("web", [str(pattern)], input_format)
    return [extract_to_store(store, item, "0" * 64, "snap", config or ExtractConfig()) for item in items]


def warc(path: Path, pages: list[tuple[str, bytes]]) -> None:
    members = []
    for name, page in pages:
        block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + page
        head = (
            f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:{name}>\r\nWARC-Target-URI: http://{name}/\r\n"
            f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(block)}\r\n\r\n"
        )
        members.append(gzip.compress(head.encode() + block + b"\r\n\r\n"))
    path.write_bytes(b"".join(members))


@pytest.mark.parametrize(
    ("input_format", "name", "content"),
    [
        ("html", "a.html", HTML),
        ("text", "a.txt", TEXT),
        ("tree", "pkg/a.py", f"# {TEXT}\n"),
        ("jsonl", "a.jsonl", json.dumps({"text": TEXT}) + "\nno json\n"),
    ],
)
def test_every_format_ends_in_the_store_and_is_found_there(
    tmp_path: Path, input_format: InputFormat, name: str, content: str
) -> None:
    (tmp_path / "in" / name).parent.mkdir(parents=True)
    (tmp_path / "in" / name).write_text(content)
    store = Store(str(tmp_path / "store"))
    (output,) = run(store, tmp_path / "in", input_format)
    (document,) = read_documents(store, output.kept_path)
    assert TEXT in document.text
    assert (document.source, document.snapshot, document.locator.file) == ("web", "snap", name)
    assert output.counts.seen == 1 + (input_format == "jsonl")
    assert output.counts.dropped == ({"bad_json": 1} if input_format == "jsonl" else {})
    (again,) = run(store, tmp_path / "in", input_format)
    assert (again.reused, again.counts) == (True, output.counts)


def test_b09_hard_pages_are_extracted_or_dropped_with_a_reason_and_the_next_page_always_is(tmp_path: Path) -> None:
    folder = CASES / "B09"
    if not folder.exists():
        pytest.skip("the shared cases are not here")
    names = ["many_attributes", "next_page", "long_table", "next_page", "deep_nesting", "next_page"]
    pages = {path.name.split(".")[0]: path for path in folder.glob("*.html*")}
    contents = {
        name: gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        for name, path in pages.items()
    }
    warc(tmp_path / "hard.warc.gz", [(f"{number}-{name}", contents[name]) for number, name in enumerate(names)])
    store = Store(str(tmp_path / "store"))
    (output,) = run(store, tmp_path / "hard.warc.gz", "warc", ExtractConfig(cpu_seconds_per_page=2))
    kept = {document.url for document in read_documents(store, output.kept_path)}
    reasons = {drop.url: drop.reason for drop in read_dropped(store, output.dropped_path)}
    assert output.counts.seen == len(names)
    assert {url for url in kept if "next_page" in url} == {f"http://{place}-next_page/" for place in (1, 3, 5)}
    assert set(reasons.values()) <= {"timeout", "memory", "extractor_error", "empty_page"}
    assert kept | set(reasons) == {f"http://{number}-{name}/" for number, name in enumerate(names)}


def test_a_page_lost_to_its_time_limit_names_the_limit(tmp_path: Path) -> None:
    attributes = " ".join(f'a{number}="x"' for number in range(40_000))
    warc(tmp_path / "a.warc.gz", [("hard", f"<p {attributes}>{TEXT}</p>".encode() * 3), ("easy", HTML.encode())])
    store = Store(str(tmp_path / "store"))
    (output,) = run(store, tmp_path / "a.warc.gz", "warc", ExtractConfig(cpu_seconds_per_page=0.4))
    (lost,) = read_dropped(store, output.dropped_path)
    assert (lost.url, lost.reason, lost.limit) == ("http://hard/", "timeout", "0.4 CPU s")
    assert [document.url for document in read_documents(store, output.kept_path)] == ["http://easy/"]


def test_a_bad_record_is_dropped_with_its_offset(tmp_path: Path) -> None:
    warc(tmp_path / "a.warc.gz", [("one", HTML.encode()), ("two", HTML.encode())])
    content = (tmp_path / "a.warc.gz").read_bytes()
    (tmp_path / "a.warc.gz").write_bytes(content[:-20])
    store = Store(str(tmp_path / "store"))
    (output,) = run(store, tmp_path / "a.warc.gz", "warc")
    (lost,) = read_dropped(store, output.dropped_path)
    assert (lost.reason, output.counts.kept, output.counts.seen) == ("truncated_record", 1, 2)
    assert content[lost.locator.offset :].startswith(b"\x1f\x8b\x08")
