"""Read packed rows of a data version by their numbers, ahead of need.

Shards are decoded whole into arrays and kept within a memory limit, the least recently used goes first. Training
reads front to back, so each shard is read once per epoch; one thread reads ahead (worker processes would be slower:
their tensors cross a pipe). A shard is checked against the manifest's SHA-256 when it is first read, and presence and
row counts of all shards before the first step.
"""

import queue
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from tasks.core.errors import InputError
from tasks.core.manifest import ShardRecord
from tasks.io.store import Store
from tasks.io.tables import read_table

_COLUMNS = ["input_ids", "segment_lengths", "num_tokens"]
_PADDING = -1


@dataclass(frozen=True, slots=True)
class PackedRows:
    """Rows as arrays: token ids and segment numbers (-1 at padding), both rows x length; real tokens per row."""

    input_ids: npt.NDArray[Any]
    segment_ids: npt.NDArray[np.int32]
    num_tokens: npt.NDArray[np.int32]

    @property
    def num_bytes(self) -> int:
        """Memory of the arrays."""
        return self.input_ids.nbytes + self.segment_ids.nbytes + self.num_tokens.nbytes


class RowReader:
    """Rows of some shards of a data version, numbered through in shard order."""

    def __init__(
        self, store: Store, version: str, shards: Sequence[ShardRecord], sequence_length: int, max_bytes: int = 2 << 30
    ) -> None:
        self._store = store
        self._version = version
        self._shards = list(shards)
        self._length = sequence_length
        self._max_bytes = max_bytes
        self._ends = np.cumsum([shard.num_rows for shard in shards], dtype=np.int64)
        self._cache: OrderedDict[int, PackedRows] = OrderedDict()
        self._verified: set[int] = set()

    def __len__(self) -> int:
        return int(self._ends[-1]) if self._shards else 0

    def check(self) -> None:
        """Look at every shard's footer.

        Raises:
            InputError: shards are missing, unreadable or of another size; all of them are named.
        """
        problems = [problem for shard in self._shards if (problem := self._problem(shard))]
        if problems:
            raise InputError(
                f"data version {self._version}",
                f"{len(problems)} shard(s) are not as the manifest says: {'; '.join(problems)}",
                "restore them from a copy, or delete the version and run refresh again",
            )

    def read(self, numbers: npt.NDArray[np.int64]) -> PackedRows:
        """Return rows by number, in the order asked."""
        shards = np.searchsorted(self._ends, numbers, side="right")
        parts: list[PackedRows] = []
        for shard in np.unique(shards):
            rows = self._load(int(shard))
            local = numbers[shards == shard] - (int(self._ends[shard - 1]) if shard else 0)
            parts.append(PackedRows(rows.input_ids[local], rows.segment_ids[local], rows.num_tokens[local]))
        places = np.argsort(np.argsort(shards, kind="stable"), kind="stable")
        return PackedRows(
            np.concatenate([part.input_ids for part in parts])[places],
            np.concatenate([part.segment_ids for part in parts])[places],
            np.concatenate([part.num_tokens for part in parts])[places],
        )

    def _load(self, shard: int) -> PackedRows:
        if shard in self._cache:
            self._cache.move_to_end(shard)
            return self._cache[shard]
        record = self._shards[shard]
        path = self._path(record)
        if shard not in self._verified:
            self._verify(record, path)
            self._verified.add(shard)
        rows = _decoded(read_table(self._store, path, columns=_COLUMNS), self._length)
        self._cache[shard] = rows
        while len(self._cache) > 1 and sum(item.num_bytes for item in self._cache.values()) > self._max_bytes:
            self._cache.popitem(last=False)
        return rows

    def _verify(self, record: ShardRecord, path: str) -> None:
        found = self._store.sha256(path)
        if found != record.sha256:
            raise InputError(
                f"data version {self._version}",
                f"{record.path} is damaged: SHA-256 {found[:12]}…, the manifest says {record.sha256[:12]}…",
                "restore it from a copy, or delete the version and run refresh again",
            )

    def _problem(self, record: ShardRecord) -> str:
        path = self._path(record)
        if not self._store.exists(path):
            return f"{record.path}: missing"
        try:
            with self._store.open(path) as file:
                rows = pq.read_metadata(file).num_rows
        except (pa.ArrowInvalid, OSError) as error:
            return f"{record.path}: not a whole Parquet file ({str(error).splitlines()[0]})"
        return "" if rows == record.num_rows else f"{record.path}: {rows} rows, wanted {record.num_rows}"

    def _path(self, record: ShardRecord) -> str:
        return f"versions/{self._version}/{record.path}"


def read_ahead(
    reader: RowReader, requests: Iterable[npt.NDArray[np.int64]], depth: int = 2
) -> Iterator[tuple[PackedRows, float]]:
    """Yield the rows of each request, read by a thread up to ``depth`` ahead, with the seconds we waited for them."""
    ahead = _Ahead(reader, requests, depth)
    try:
        while True:
            began = time.perf_counter()
            rows = ahead.next()
            if rows is None:
                return
            yield rows, time.perf_counter() - began
    finally:
        ahead.close()


class _Ahead:
    """The reading thread and the queue between it and its consumer."""

    def __init__(self, reader: RowReader, requests: Iterable[npt.NDArray[np.int64]], depth: int) -> None:
        self._queue: queue.Queue[PackedRows | BaseException | None] = queue.Queue(depth)
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._work, args=(reader, requests), name="read-ahead", daemon=True)
        self._thread.start()

    def next(self) -> PackedRows | None:
        """Return the next rows, or None at the end; what the thread raised is raised here."""
        item = self._queue.get()
        if isinstance(item, BaseException):
            raise item
        return item

    def close(self) -> None:
        """End the thread."""
        self._closed.set()
        self._thread.join()

    def _work(self, reader: RowReader, requests: Iterable[npt.NDArray[np.int64]]) -> None:
        try:
            for numbers in requests:
                if self._closed.is_set():
                    return
                self._put(reader.read(numbers))
            self._put(None)
        except BaseException as error:  # noqa: BLE001 - carried to the consumer and raised there
            self._put(error)

    def _put(self, item: PackedRows | BaseException | None) -> None:
        while not self._closed.is_set():
            try:
                return self._queue.put(item, timeout=0.2)
            except queue.Full:
                continue


def _decoded(table: pa.Table, length: int) -> PackedRows:
    ids = table["input_ids"].combine_chunks()
    num_rows = len(table)
    values = ids.flatten().to_numpy(zero_copy_only=False).reshape(num_rows, length)
    lists = table["segment_lengths"].combine_chunks()
    lengths = lists.flatten().to_numpy(zero_copy_only=False).astype(np.int64)
    counts = np.diff(lists.offsets.to_numpy()).astype(np.int64)
    numbers = np.arange(len(lengths)) - np.repeat(np.cumsum(counts) - counts, counts)
    segments = np.full((num_rows, length), _PADDING, dtype=np.int32)
    num_tokens = table["num_tokens"].to_numpy().astype(np.int32)
    # Row by row, the real positions come first: a mask of them takes the segment numbers in order.
    segments[np.arange(length) < num_tokens[:, None]] = np.repeat(numbers, lengths).astype(np.int32)
    return PackedRows(values, segments, num_tokens)
