"""Found duplicates on disk: who goes and why, counts that add up, reuse."""

from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq

from tasks.core.document import Document, Locator, doc_id_for
from tasks.dedup.stage import DedupConfig, find, shingles_in, sign
from tasks.io.documents import StageOutput, read_dropped, write_output
from tasks.io.duplicates import DedupSteps, DuplicatesOutput, deduplicate_files, find_stored_duplicates, removed_ids
from tasks.io.signatures import signature_output, write_signatures
from tasks.io.store import Store

CONFIG = DedupConfig()
LONG = " ".join(f"word{number}" for number in range(200))
IDENTITY = "d" * 64
TEXTS = {"web": ["a first text", LONG, "a second text"], "books": ["A FIRST TEXT", LONG + " more", "a third text"]}


def written(store: Store, source: str, start: int) -> StageOutput:
    documents = []
    for number, text in enumerate(TEXTS[source]):
        locator = Locator("file", number)
        when = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=start + number)
        document = Document(doc_id_for(source, locator), source, "", "u", locator, when, "", "", "")
        documents.append(document.with_text(text))
    return write_output(store, "quality", source, "input", source.ljust(64, "0"), "i" * 64, documents)


def found_in(store: Store, *, reverse: bool = False) -> tuple[list[StageOutput], DuplicatesOutput]:
    documents = [written(store, "web", 0), written(store, "books", 10)]
    signatures = [signature_output(item, CONFIG.fingerprint()) for item in documents]
    settings = CONFIG.signature_settings()
    for item, output in zip(documents, signatures, strict=True):
        write_signatures(store, item.kept_path, output.path, partial(sign, config=CONFIG), 112, settings)
    steps = DedupSteps(partial(find, config=CONFIG), partial(shingles_in, config=CONFIG), 112, settings)
    step = -1 if reverse else 1
    return documents, deduplicate_files(store, IDENTITY, documents[::step], signatures[::step], steps)


def test_the_younger_of_each_pair_is_named_with_its_partner_reason_and_similarity(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    _, output = found_in(store)
    rows = pq.read_table(store.path(output.path)).to_pylist()
    assert [row["doc_id"] for row in rows] == sorted(row["doc_id"] for row in rows)
    by_id = {row["doc_id"]: row for row in rows}
    copy, near = (by_id[doc_id_for("books", Locator("file", number))] for number in (0, 1))
    assert (copy["reason"], copy["similarity"], copy["source"]) == ("exact_duplicate", 1.0, "books")
    assert copy["duplicate_of"] == doc_id_for("web", Locator("file", 0))
    assert (near["reason"], round(near["similarity"], 4)) == ("near_duplicate", round(196 / 197, 4))
    assert removed_ids(store, output.path) == set(by_id)
    assert len(rows) == 2


def test_counts_per_source_add_up_and_the_dropped_are_written_with_their_numbers(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    documents, output = found_in(store)
    assert output.counts["web"].dropped == {}
    books = output.counts["books"]
    assert (books.seen, books.kept, books.dropped) == (3, 1, {"exact_duplicate": 1, "near_duplicate": 1})
    assert books.bytes_kept == len("a third text")
    assert books.bytes_kept + books.bytes_dropped == documents[1].counts.bytes_kept
    [folder] = {str(Path(name).parent) for name in store.list("dropped/dedup/books")}
    dropped = [item for name in store.list(folder) for item in read_dropped(store, name)]
    assert [(item.reason, item.value, item.limit) for item in dropped] == [
        ("exact_duplicate", "1", ""),
        ("near_duplicate", f"{196 / 197:.6g}", "0.75"),
    ]
    assert dropped[1].duplicate_of == doc_id_for("web", Locator("file", 1))
    assert dropped[1].text_head == LONG[:200]
    assert len(store.list("dropped/dedup/web")) == 1


def test_the_same_inputs_in_another_order_give_the_same_bytes(tmp_path: Path) -> None:
    one, other = Store(str(tmp_path / "one")), Store(str(tmp_path / "other"))
    (_, first), (_, second) = found_in(one), found_in(other, reverse=True)
    assert one.sha256(first.path) == other.sha256(second.path)
    for name in one.list("dropped/dedup"):
        assert one.sha256(name) == other.sha256(name)


def test_what_was_found_is_found_again_with_its_counts(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    assert find_stored_duplicates(store, IDENTITY) is None
    _, output = found_in(store)
    again = find_stored_duplicates(store, IDENTITY)
    assert again is not None
    assert (again.path, dict(again.counts), again.reused) == (output.path, dict(output.counts), True)
