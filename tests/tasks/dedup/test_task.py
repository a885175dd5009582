"""The tasks over a store: identities, reuse, alarms."""

from pathlib import Path

import pytest

from tasks.core.document import Document, Locator, doc_id_for
from tasks.dedup.stage import DedupConfig
from tasks.dedup.task import find_duplicates, sign_documents
from tasks.io.documents import StageOutput, write_output
from tasks.io.duplicates import removed_ids
from tasks.io.store import Store


def written(store: Store, source: str, texts: list[str]) -> StageOutput:
    documents = []
    for number, text in enumerate(texts):
        locator = Locator("file", number)
        document = Document(doc_id_for(source, locator), source, "", "", locator, None, "", "", "")
        documents.append(document.with_text(text))
    return write_output(store, "quality", source, "input", source.ljust(64, "0"), source.ljust(64, "1"), documents)


def test_a_second_call_finds_the_work_done_and_other_settings_do_it_anew(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    documents = [written(store, "web", ["one", "two"]), written(store, "books", ["two", "two", "two", "six"])]
    config = DedupConfig(alarm_share=0.4)
    signatures = [sign_documents.fn(store, item, config) for item in documents]
    first = find_duplicates.fn(store, documents, signatures, config)
    assert not first.reused
    assert len(removed_ids(store, first.path)) == 3
    files = store.list("")
    assert [sign_documents.fn(store, item, config) for item in documents] == signatures
    again = find_duplicates.fn(store, documents[::-1], signatures[::-1], config)
    assert again.reused
    assert (again.path, again.counts) == (first.path, first.counts)
    assert store.list("") == files

    strict = DedupConfig(threshold=0.9)
    assert [sign_documents.fn(store, item, strict) for item in documents] == signatures
    assert find_duplicates.fn(store, documents, signatures, strict).path != first.path


@pytest.mark.parametrize(("limit", "num_alarms"), [(0.4, 1), (0.8, 0)])
def test_a_source_that_loses_more_than_the_limit_raises_an_alarm(tmp_path: Path, limit: float, num_alarms: int) -> None:
    store = Store(str(tmp_path))
    documents = [written(store, "books", ["two", "two", "two", "six"]), written(store, "web", ["ten"])]
    config = DedupConfig(alarm_share=limit)
    signatures = [sign_documents.fn(store, item, config) for item in documents]
    alarms = find_duplicates.fn(store, documents, signatures, config).alarms
    expected = f"source books: dedup removed 50.0% of 4 documents (limit {limit:.0%})"
    assert alarms == (expected,) * num_alarms
