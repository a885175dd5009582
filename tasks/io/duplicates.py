"""Found duplicates on disk: ``dedup/<identity>.parquet`` names what goes, the kept partner and their similarity.

Kept documents are not copied: readers take the documents of the stage before and leave out :func:`removed_ids`.
Each input also gets its file of dropped documents. The duplicates file is written last, with the counts in its
header, so its existence means that all is there. Memory: all signatures, and the shingles of the candidates.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pydantic import TypeAdapter

from tasks.core.counts import Counts, Tally
from tasks.core.document import Dropped, Verdict
from tasks.core.signatures import Duplicates, LoadShingles, Shingles, SignatureTable
from tasks.io.documents import StageOutput, read_selected, write_dropped
from tasks.io.schemas import DUPLICATES
from tasks.io.signatures import SignatureOutput, read_signatures
from tasks.io.store import Store
from tasks.io.tables import read_table

_COUNTS = TypeAdapter(dict[str, Counts])
_COUNTS_KEY = b"glassworks.counts"
_NAME_DIGITS = 16
_STAGE = "dedup"
_EXACT, _NEAR = "exact_duplicate", "near_duplicate"


@dataclass(frozen=True, slots=True)
class DuplicatesOutput:
    """Where the found duplicates are, the counts per source, and a sentence per source that lost too much."""

    path: str
    identity: str
    counts: Mapping[str, Counts]
    alarms: tuple[str, ...] = ()
    reused: bool = False


@dataclass(frozen=True, slots=True)
class DedupSteps:
    """The pure steps, and what the signatures must have been made with."""

    find: Callable[[SignatureTable, LoadShingles], Duplicates]
    shingle: Callable[[str], Shingles]
    num_permutations: int
    settings: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Part:
    """One input's rows among all: from ``start`` to before ``end``."""

    output: StageOutput
    start: int
    end: int

    def selected(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which of the input's rows are among ``rows``."""
        selected = np.zeros(self.end - self.start, np.bool_)
        selected[rows[(rows >= self.start) & (rows < self.end)] - self.start] = True
        return selected


def duplicates_path(identity: str) -> str:
    """Return the path of the duplicates found under an identity."""
    return f"{_STAGE}/{identity[:_NAME_DIGITS]}.parquet"


def find_stored_duplicates(store: Store, identity: str) -> DuplicatesOutput | None:
    """Return what was found before, or None."""
    path = duplicates_path(identity)
    if not store.exists(path):
        return None
    with store.open(path) as file:
        metadata = pq.read_schema(file).metadata or {}
    return DuplicatesOutput(path, identity, _COUNTS.validate_json(metadata[_COUNTS_KEY]), reused=True)


def deduplicate_files(
    store: Store,
    identity: str,
    documents: Sequence[StageOutput],
    signatures: Sequence[SignatureOutput],
    steps: DedupSteps,
) -> DuplicatesOutput:
    """Find the duplicates among all documents; write the dropped ones per input, then the list of all.

    Raises:
        StaleOutputError: signatures were made by other settings.
    """
    doc_ids, table = read_signatures(store, documents, signatures, steps.num_permutations, steps.settings)
    parts = _parts(documents)
    found = steps.find(table, lambda rows: _load(store, parts, rows, steps.shingle))
    counts: dict[str, Counts] = {}
    for part in parts:
        tally = Tally()
        dropped_path = replace(part.output, stage=_STAGE, identity=identity).dropped_path
        write_dropped(store, dropped_path, _dropped(store, part, doc_ids, found, tally))
        source = part.output.source
        counts[source] = counts.get(source, Counts()) + _without(part.output.counts, tally.counts())
    path = duplicates_path(identity)
    _write_list(store, path, _list_of(doc_ids, parts, found), dict(sorted(counts.items())))
    return DuplicatesOutput(path, identity, counts)


def removed_ids(store: Store, path: str) -> set[bytes]:
    """Return the ids of all documents that a duplicates file removes."""
    return set(read_table(store, path, columns=["doc_id"])["doc_id"].to_pylist())


def _parts(documents: Sequence[StageOutput]) -> list[_Part]:
    ends = np.cumsum([output.counts.kept for output in documents]).tolist()
    return [_Part(output, end - output.counts.kept, end) for output, end in zip(documents, ends, strict=True)]


def _load(
    store: Store, parts: Sequence[_Part], rows: NDArray[np.int64], shingle: Callable[[str], Shingles]
) -> dict[int, Shingles]:
    """Read the texts of the candidates, file by file, and keep their shingles."""
    loaded: dict[int, Shingles] = {}
    for part in parts:
        selected = part.selected(rows)
        numbers = (np.flatnonzero(selected) + part.start).tolist()
        if numbers:
            texts = (document.text for document in read_selected(store, part.output.kept_path, selected))
            loaded.update(zip(numbers, map(shingle, texts), strict=True))
    return loaded


def _dropped(store: Store, part: _Part, doc_ids: Sequence[bytes], found: Duplicates, tally: Tally) -> Iterator[Dropped]:
    """Yield what goes of one input, in its order, and count it."""
    mine = np.flatnonzero((found.rows >= part.start) & (found.rows < part.end)).tolist()
    documents = read_selected(store, part.output.kept_path, part.selected(found.rows))
    for index, document in zip(mine, documents, strict=True):
        similarity = float(found.similarity[index])
        verdict = (
            Verdict.drop(_EXACT, similarity) if found.exact[index] else Verdict.drop(_NEAR, similarity, found.threshold)
        )
        dropped = Dropped.of(document, _STAGE, verdict, doc_ids[found.duplicate_of[index]])
        tally.add(dropped)
        yield dropped


def _without(before: Counts, removed: Counts) -> Counts:
    return Counts(
        seen=before.kept,
        kept=before.kept - removed.seen,
        dropped=removed.dropped,
        bytes_kept=before.bytes_kept - removed.bytes_dropped,
        bytes_dropped=removed.bytes_dropped,
    )


def _list_of(doc_ids: Sequence[bytes], parts: Sequence[_Part], found: Duplicates) -> pa.Table:
    ends = [part.end for part in parts]
    owners = np.searchsorted(ends, found.rows, side="right").tolist()
    columns = [
        pa.array([doc_ids[row] for row in found.rows.tolist()], DUPLICATES.field("doc_id").type),
        pa.array([doc_ids[row] for row in found.duplicate_of.tolist()], DUPLICATES.field("duplicate_of").type),
        pa.array(found.similarity.astype(np.float32)),
        pa.array([_EXACT if exact else _NEAR for exact in found.exact.tolist()], pa.string()),
        pa.array([parts[owner].output.source for owner in owners], pa.string()),
    ]
    return pa.table(columns, schema=DUPLICATES).sort_by("doc_id")


def _write_list(store: Store, path: str, table: pa.Table, counts: dict[str, Counts]) -> None:
    stated = table.replace_schema_metadata({_COUNTS_KEY: _COUNTS.dump_json(counts)})
    with store.writing(path) as file:
        pq.write_table(stated, file, compression="zstd")
