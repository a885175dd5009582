"""Documents on disk: one Parquet file of kept and one of dropped documents per stage and input.

The kept file is written last and carries the counts in its metadata, so its existence means that the stage
is complete for this input. Its name holds the identity of all that shaped it: a changed setting gives another
name, and an unchanged one finds its file again. Memory: one batch of documents.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from configs.base import fingerprint
from tasks.core.counts import Counts, Tally
from tasks.core.document import Document, Dropped, Locator
from tasks.io.schemas import DROPPED, document_schema
from tasks.io.store import Store

BATCH_DOCUMENTS = 1000
_COUNTS_KEY = b"glassworks.counts"
_NAME_DIGITS = 16

T = TypeVar("T")
StageFunction = Callable[[Iterable[Document]], Iterable[Document | Dropped]]


@dataclass(frozen=True, slots=True)
class StageOutput:
    """Where one stage left one input: ``name`` of the input, its fingerprint, both files, the counts.

    ``identity`` is the chained fingerprint of everything that shaped it; ``reused`` says it was found.
    """

    stage: str
    source: str
    name: str
    input_fingerprint: str
    identity: str
    counts: Counts
    reused: bool

    @property
    def kept_path(self) -> str:
        """Path in the store of the kept documents."""
        return _path("documents", self.stage, self.source, self.input_fingerprint, self.identity)

    @property
    def dropped_path(self) -> str:
        """Path in the store of the dropped documents."""
        return _path("dropped", self.stage, self.source, self.input_fingerprint, self.identity)


def chained_identity(upstream: str, stage: str, version: int, **parts: Any) -> str:  # noqa: ANN401 - JSON-like
    """Return the identity of a stage's output: what came in, which code version, which settings and files."""
    return fingerprint({"upstream": upstream, "stage": stage, "version": version, **parts})


def find_output(
    store: Store, stage: str, source: str, name: str, input_fingerprint: str, identity: str
) -> StageOutput | None:
    """Return a finished output, or None."""
    path = _path("documents", stage, source, input_fingerprint, identity)
    if not store.exists(path):
        return None
    with store.open(path) as file:
        metadata = pq.read_metadata(file).metadata
    counts = Counts.model_validate_json(metadata[_COUNTS_KEY])
    return StageOutput(stage, source, name, input_fingerprint, identity, counts, reused=True)


def write_output(
    store: Store,
    stage: str,
    source: str,
    name: str,
    input_fingerprint: str,
    identity: str,
    results: Iterable[Document | Dropped],
    signals: Iterable[str] = (),
) -> StageOutput:
    """Write a stage's results for one input; nothing appears before all of it is written.

    Raises:
        StoreError: the store is full or not writable.
    """
    tally = Tally()
    kept_path = _path("documents", stage, source, input_fingerprint, identity)
    dropped_path = _path("dropped", stage, source, input_fingerprint, identity)
    with store.writing(kept_path) as kept_file, ExitStack() as files:
        dropped_file = files.enter_context(store.writing(dropped_path))
        with (
            pq.ParquetWriter(kept_file, document_schema(signals), compression="zstd") as kept,
            pq.ParquetWriter(dropped_file, DROPPED, compression="zstd") as dropped,
        ):
            for batch in batched(results, BATCH_DOCUMENTS):
                for result in batch:
                    tally.add(result)
                _write(kept, [result for result in batch if isinstance(result, Document)])
                _write(dropped, [result for result in batch if isinstance(result, Dropped)])
            counts = tally.counts()
            kept.add_key_value_metadata({_COUNTS_KEY.decode(): counts.model_dump_json()})
    return StageOutput(stage, source, name, input_fingerprint, identity, counts, reused=False)


def transform(
    store: Store,
    upstream: StageOutput,
    stage: str,
    identity: str,
    function: StageFunction,
    signals: tuple[str, ...] = (),
) -> StageOutput:
    """Run a pure stage function over one input's documents, unless its output is there already."""
    place = (stage, upstream.source, upstream.name, upstream.input_fingerprint, identity)
    found = find_output(store, *place)
    return found or write_output(store, *place, function(read_documents(store, upstream.kept_path)), signals)


def read_documents(store: Store, path: str) -> Iterator[Document]:
    """Read kept documents in their order."""
    for row in _rows(store, path):
        yield _document(row)


def read_selected(store: Store, path: str, selected: NDArray[np.bool_]) -> Iterator[Document]:
    """Read those kept documents whose row is selected, in their order."""
    start = 0
    with store.open(path) as file:
        for batch in pq.ParquetFile(file).iter_batches(BATCH_DOCUMENTS):
            wanted = selected[start : start + len(batch)]
            start += len(batch)
            if wanted.any():
                yield from map(_document, batch.filter(pa.array(wanted)).to_pylist())


def write_dropped(store: Store, path: str, dropped: Iterable[Dropped]) -> None:
    """Write dropped documents alone, for a stage that does not copy what it keeps."""
    with store.writing(path) as file, pq.ParquetWriter(file, DROPPED, compression="zstd") as writer:
        for batch in batched(dropped, BATCH_DOCUMENTS):
            _write(writer, batch)


def read_dropped(store: Store, path: str) -> Iterator[Dropped]:
    """Read dropped documents in their order."""
    for row in _rows(store, path):
        yield Dropped(**{**row, "locator": Locator(**row["locator"])})


def batched(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Cut any iterable into lists of at most ``size`` items."""
    batch: list[T] = []
    for item in items:
        batch.append(item)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def _path(kind: str, stage: str, source: str, input_fingerprint: str, identity: str) -> str:
    return f"{kind}/{stage}/{source}/{input_fingerprint[:_NAME_DIGITS]}-{identity[:_NAME_DIGITS]}.parquet"


def _rows(store: Store, path: str) -> Iterator[dict[str, Any]]:
    with store.open(path) as file:
        for batch in pq.ParquetFile(file).iter_batches(BATCH_DOCUMENTS):
            yield from batch.to_pylist()


def _write(writer: pq.ParquetWriter, results: list[Any]) -> None:
    if results:
        rows = [asdict(result) for result in results]
        writer.write_table(pa.Table.from_pylist(rows, schema=writer.schema))


def _document(row: dict[str, Any]) -> Document:
    signals = {name: value for name, value in (row.pop("signals", None) or {}).items() if value is not None}
    return Document(**{**row, "locator": Locator(**row["locator"]), "signals": signals})
