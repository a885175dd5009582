"""From rows of a data version back to their documents: segments of rows, and the version's index.

Cost: one shard per row read, and one filtered read of the index, which is sorted by doc_id.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tasks.core.manifest import Manifest
from tasks.io.store import Store
from tasks.io.tables import read_sorted, read_table


@dataclass(frozen=True, slots=True)
class RowSegment:
    """One segment of one row: which document, from which of its tokens on, and the token ids."""

    row: int
    doc_id: bytes
    source: str
    offset: int
    input_ids: tuple[int, ...]


def read_segments(store: Store, manifest: Manifest, rows: Sequence[int]) -> list[RowSegment]:
    """Return the segments of rows, in the order of ``rows`` and of their place in each."""
    ends = np.cumsum([shard.num_rows for shard in manifest.train_shards])
    found: dict[int, list[RowSegment]] = {}
    for shard in sorted({int(np.searchsorted(ends, row, side="right")) for row in rows}):
        first = int(ends[shard]) - manifest.train_shards[shard].num_rows
        mine = sorted({row for row in rows if first <= row < ends[shard]})
        table = read_table(store, f"versions/{manifest.version}/{manifest.train_shards[shard].path}").take(
            [row - first for row in mine]
        )
        for row, record in zip(mine, table.to_pylist(), strict=True):
            found[row] = list(_segments(row, record))
    return [segment for row in rows for segment in found[row]]


def read_index(store: Store, version: str, doc_ids: Iterable[bytes]) -> dict[bytes, dict[str, Any]]:
    """Return the index rows (schemas.INDEX) of some documents of a version, by doc_id."""
    rows = read_sorted(store, f"versions/{version}/index.parquet", "doc_id", doc_ids).to_pylist()
    return {row["doc_id"]: row for row in rows}


def _segments(row: int, record: dict[str, Any]) -> Iterable[RowSegment]:
    start = 0
    columns = (record[f"segment_{name}"] for name in ("lengths", "doc_ids", "sources", "offsets"))
    for length, doc_id, source, offset in zip(*columns, strict=True):
        yield RowSegment(row, doc_id, source, offset, tuple(record["input_ids"][start : start + length]))
        start += length
