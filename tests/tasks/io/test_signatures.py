"""Signatures on disk: they come back as they were, and others are refused."""

from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tasks.core.document import Document, Locator, doc_id_for
from tasks.core.errors import StaleOutputError
from tasks.dedup.stage import DedupConfig, sign
from tasks.io.documents import StageOutput, write_output
from tasks.io.signatures import SignatureOutput, read_signatures, signature_output, write_signatures
from tasks.io.store import Store

DEFAULT = DedupConfig()
WHEN = datetime(2026, 1, 1, tzinfo=UTC)


def written(store: Store, source: str, texts: list[str], snapshot: str = "") -> StageOutput:
    documents = []
    for number, text in enumerate(texts):
        locator = Locator("file", number)
        when = WHEN + timedelta(days=number)
        document = Document(doc_id_for(source, locator), source, snapshot, "", locator, when, "", "", "")
        documents.append(document.with_text(text))
    return write_output(store, "quality", source, "input", source.ljust(64, "0"), "i" * 64, documents)


def signed(store: Store, upstream: StageOutput, config: DedupConfig) -> SignatureOutput:
    output = signature_output(upstream, config.fingerprint())
    function = partial(sign, config=config)
    settings = config.signature_settings()
    write_signatures(store, upstream.kept_path, output.path, function, config.num_permutations, settings)
    return output


def test_signatures_come_back_in_the_order_of_the_documents(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    inputs = [written(store, "web", ["one text", "other text"], "s2"), written(store, "books", ["", "third"], "s1")]
    outputs = [signed(store, item, DEFAULT) for item in inputs]
    ids, table = read_signatures(store, inputs, outputs, 112, DEFAULT.signature_settings())
    assert ids == [doc_id_for(source, Locator("file", number)) for source in ("web", "books") for number in (0, 1)]
    assert table.sources.tolist() == [1, 1, 0, 0]
    assert table.snapshots.tolist() == [1, 1, 0, 0]
    assert table.num_shingles.tolist() == [1, 1, 0, 1]
    expected = sign(ids[1], WHEN + timedelta(days=1), "other text", DEFAULT)
    assert np.array_equal(table.values[1], expected.values)
    assert b"".join(int(part).to_bytes(8, "big") for part in table.order_keys[1]) == expected.order_key
    assert b"".join(int(part).to_bytes(8, "big") for part in table.exact_hashes[1]) == expected.exact_hash


def test_an_input_without_documents_has_no_signatures(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    empty = written(store, "web", [])
    ids, table = read_signatures(store, [empty], [signed(store, empty, DEFAULT)], 112, DEFAULT.signature_settings())
    assert ids == []
    assert table.values.shape == (0, 112)


@pytest.mark.parametrize(
    ("other", "named"),
    [
        (DedupConfig(seed=2), "seed 1, not 2"),
        (DedupConfig(num_bands=16), "num_permutations 112, not 128"),
        (DedupConfig(shingle_words=4), "shingle_words 5, not 4"),
        (DedupConfig(shingle_characters=9), "shingle_characters 5, not 9"),
    ],
)
def test_b45_signatures_of_other_settings_are_refused_by_name(tmp_path: Path, other: DedupConfig, named: str) -> None:
    store = Store(str(tmp_path))
    upstream = written(store, "web", ["one text"])
    output = signed(store, upstream, DEFAULT)
    with pytest.raises(StaleOutputError, match=f"signatures of web/input: made with {named}; sign all inputs"):
        read_signatures(store, [upstream], [output], other.num_permutations, other.signature_settings())
