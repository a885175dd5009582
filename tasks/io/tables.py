"""Reading Parquet from the store.

Always through :class:`pyarrow.parquet.ParquetFile`: ``pq.read_table`` reads ahead on threads of its own, and one
that is still there when the interpreter ends aborts the process (seen in 1 of 14 short commands).
"""

from collections.abc import Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tasks.io.store import Store


def read_table(store: Store, path: str, columns: Sequence[str] | None = None) -> pa.Table:
    """Return a file's columns (all of them by default)."""
    with store.open(path) as file:
        return pq.ParquetFile(file).read(columns=columns)


def read_sorted(store: Store, path: str, key: str, wanted: Iterable[bytes]) -> pa.Table:
    """Return the rows of a file sorted by ``key`` whose key is wanted; only row groups that may have one are read."""
    keys = sorted(set(wanted))
    with store.open(path) as file:
        parquet = pq.ParquetFile(file)
        column = parquet.schema_arrow.get_field_index(key)
        groups = [
            group
            for group in range(parquet.num_row_groups)
            if _may_hold(parquet.metadata.row_group(group).column(column).statistics, keys)
        ]
        table = parquet.read_row_groups(groups) if groups else parquet.schema_arrow.empty_table()
    return table.filter(pc.is_in(table[key], pa.array(keys, table.schema.field(key).type)))


def _may_hold(statistics: pq.Statistics | None, keys: Sequence[bytes]) -> bool:
    if statistics is None or not statistics.has_min_max:
        return True
    return any(statistics.min <= key <= statistics.max for key in keys)
