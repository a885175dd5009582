"""Read the records of a run folder: one JSON object a line, appended while others read.

Property: a line that is still being written is left for the next read. Cost: one pass over the new bytes.
"""

import contextlib
import json
import math
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

Row = dict[str, Any]

_NOT_METRICS = {"attempt", "step", "time"}
_LINES_AT_ONCE = 1000


def new_rows(file: Path, position: int) -> Iterator[tuple[list[Row], int]]:
    """Yield whole lines behind ``position`` as batches of records, each with the position behind it."""
    if not file.exists():
        return
    with file.open("rb") as lines:
        lines.seek(position)
        rows: list[Row] = []
        for line in lines:
            if not line.endswith(b"\n"):
                break  # still being written
            position += len(line)
            with contextlib.suppress(ValueError):  # a line cut by a crash: its step was done again, and written again
                rows.append(json.loads(line))
            if len(rows) == _LINES_AT_ONCE:
                yield rows, position
                rows = []
        if rows:
            yield rows, position


def metric_values(row: Row, prefix: str = "train") -> Iterator[tuple[str, float, int, int]]:
    """Yield (name, value, step, milliseconds) for each number of a record.

    A value that is no finite number is sent as it is, though MLflow shows infinity as 1.8e308; so ``…_nonfinite``
    is sent beside it.
    """
    step, milliseconds = int(row["step"]), _milliseconds(row.get("time", 0))
    for name, value in row.items():
        if name in _NOT_METRICS or isinstance(value, bool):
            continue
        if value is None:  # how JSON writers without NaN say it
            value = math.nan
        if isinstance(value, (int, float)):
            yield f"{prefix}/{name}", float(value), step, milliseconds
            if not math.isfinite(value):
                yield f"{prefix}/{name}_nonfinite", 1.0, step, milliseconds


def _milliseconds(moment: Any) -> int:  # noqa: ANN401
    seconds = datetime.fromisoformat(moment).timestamp() if isinstance(moment, str) else float(moment)
    return int(seconds * 1000)
