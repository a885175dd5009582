"""The task over a store: signals become columns, a changed limit makes another output."""

from pathlib import Path

import pyarrow.parquet as pq

from tasks.core.document import Document, Locator, doc_id_for
from tasks.io.documents import read_documents, read_dropped, write_output
from tasks.io.store import Store
from tasks.quality.stage import SIGNALS, QualityProfile
from tasks.quality.task import judge_quality

LONG = "The keeper wrote that the lamp was lit. It had to be seen from afar. Nobody was lost that winter, she said. "


def test_one_input_is_judged_once_per_profile(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    locators = [Locator("file", number) for number in range(2)]
    documents = [
        Document(doc_id_for("web", locator), "web", "", "", locator, None, "", "", "").with_text(text)
        for locator, text in zip(locators, [LONG, "short"], strict=True)
    ]
    upstream = write_output(store, "language", "web", "input", "f" * 64, "i" * 64, documents)
    profile = QualityProfile.model_validate({"filters": {"word_count": {"min_words": 20}}})
    output = judge_quality.fn(store, upstream, profile)
    assert (output.counts.seen, output.counts.kept) == (2, 1)
    [kept] = read_documents(store, output.kept_path)
    assert set(kept.signals) == set(SIGNALS)
    assert kept.num_words == 22
    [dropped] = read_dropped(store, output.dropped_path)
    assert (dropped.stage, dropped.reason) == ("quality", "too_few_characters")
    columns = pq.read_schema(store.path(output.kept_path)).field("signals").type
    assert [field.name for field in columns] == list(SIGNALS)

    renamed = profile.model_copy(update={"name": "other"})
    assert judge_quality.fn(store, upstream, renamed).reused
    assert not judge_quality.fn(store, upstream, QualityProfile()).reused
