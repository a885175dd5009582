"""Parquet from the store: whole, by column, and by key."""

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tasks.io.store import Store
from tasks.io.tables import read_sorted, read_table

KEYS = st.binary(min_size=4, max_size=4)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
@given(st.sets(KEYS, max_size=40), st.sets(KEYS, max_size=10), st.integers(1, 7))
def test_rows_by_key_are_those_of_a_full_read(
    tmp_path: Path, there: set[bytes], wanted: set[bytes], group: int
) -> None:
    asked = wanted | set(sorted(there)[::3])
    table = pa.table({"key": pa.array(sorted(there), pa.binary(4)), "number": list(range(len(there)))})
    pq.write_table(table, tmp_path / "x.parquet", row_group_size=group)
    rows = read_sorted(Store(str(tmp_path)), "x.parquet", "key", asked).to_pylist()
    assert rows == [row for row in table.to_pylist() if row["key"] in asked]
    assert read_table(Store(str(tmp_path)), "x.parquet", ["number"]).column_names == ["number"]


def test_a_short_command_that_reads_parquet_ends_cleanly(tmp_path: Path) -> None:
    pq.write_table(pa.table({"key": pa.array([bytes([number] * 4) for number in range(200)])}), tmp_path / "x.parquet")
    code = (
        "import sys; from tasks.io.store import Store; from tasks.io.tables import read_table\n"
        "print(read_table(Store(sys.argv[1]), 'x.parquet').num_rows)\n"
    )
    for _ in range(5):
        command = [sys.executable, "-c", code, str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[3])
        assert (done.returncode, done.stdout) == (0, "200\n"), done.stderr
