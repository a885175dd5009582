"""The run folder: append-only records that are the truth about a run; trackers are views of them.

``runs/<run id>/``: run.json (what the run is), attempts/<n>.json (one per launch), metrics.jsonl, incidents.jsonl,
evaluations.jsonl and samples.jsonl (one JSON object a line), checkpoints/, logs/, heartbeat, done.json (last). A line
that a killed writer left half is no record: readers ignore it and the next writer cuts it off. One writer at a time,
by the lock of :mod:`tasks.io.launch`.
"""

import os
import time
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Self

import orjson

from tasks.core.errors import InputError
from tasks.io.store import fsync_folder

_PRETTY = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
Record = dict[str, Any]


class RunFolder:
    """Names and files of one run."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.checkpoints = self.path / "checkpoints"
        self.logs = self.path / "logs"
        self.metrics = self.path / "metrics.jsonl"
        self.incidents = self.path / "incidents.jsonl"
        self.evaluations = self.path / "evaluations.jsonl"
        self.samples = self.path / "samples.jsonl"
        self.heartbeat = self.path / "heartbeat"
        self.done = self.path / "done.json"
        self.evaluated = self.path / "evaluated.json"
        self.lock = self.path / "lock"

    @property
    def run_id(self) -> str:
        """The run's id: the folder's name."""
        return self.path.name

    @property
    def store_root(self) -> Path:
        """The root of the store that the run lies in, wherever that was moved."""
        return self.path.parents[1]

    def prepare(self) -> None:
        """Make the folders, and remove what killed launches left."""
        for left in self.path.glob("meeting-*"):
            left.unlink()
        for folder in (self.checkpoints, self.logs, self.path / "attempts"):
            folder.mkdir(parents=True, exist_ok=True)

    def facts(self) -> Record:
        """Return run.json.

        Raises:
            InputError: there is no such run.
        """
        file = self.path / "run.json"
        if not file.exists():
            others = sorted(item.parent.name for item in self.path.parent.glob("*/run.json"))
            raise InputError(f"run {self.run_id}", "not in the store", f"use one of: {', '.join(others) or 'none yet'}")
        return read_json(file)

    def write_facts(self, facts: Record) -> None:
        """Write run.json."""
        write_json(self.path / "run.json", facts)

    def new_attempt(self, facts: Record) -> Record:
        """Number a launch, give it a unique id, and record it."""
        attempt = {"attempt": len(self.attempts()) + 1, "uuid": uuid.uuid4().hex, "started_at": time.time(), **facts}
        write_json(self._attempt_file(attempt["attempt"]), attempt)
        return attempt

    def attempts(self) -> list[Record]:
        """Return all launches, oldest first."""
        files = sorted((self.path / "attempts").glob("*.json"), key=lambda file: int(file.stem))
        return [read_json(file) for file in files]

    def end_attempt(self, number: int, outcome: Record) -> None:
        """Add how a launch ended to its record."""
        file = self._attempt_file(number)
        write_json(file, {**read_json(file), "ended_at": time.time(), **outcome})

    def _attempt_file(self, number: int) -> Path:
        return self.path / "attempts" / f"{number}.json"


class Appender:
    """Appends records to a .jsonl file, one whole line per write."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        _cut_half_line(path)
        self._file = path.open("ab", buffering=0)

    def append(self, record: Record) -> None:
        """Write one record; NaN and infinity become null, as JSON has no such numbers."""
        self.extend([record])

    def extend(self, records: Iterable[Record]) -> None:
        """Write some records at once."""
        self._file.write(b"".join(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE) for record in records))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Bring the records to the disk."""
        os.fsync(self._file.fileno())
        self._file.close()


class Follower:
    """Reads what was appended to a .jsonl file since the last look."""

    def __init__(self, path: Path, *, from_end: bool = False) -> None:
        self._path = path
        self._position = _whole_length(path) if from_end else 0

    def new(self) -> Iterator[Record]:
        """Yield the records that came since."""
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            file.seek(self._position)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                self._position += len(line)
                yield orjson.loads(line)


def read_records(path: Path) -> list[Record]:
    """Return all whole records of a .jsonl file, in order; none when there is no file."""
    return list(Follower(path).new())


def effective(records: Iterable[Record]) -> list[Record]:
    """Return one record per step, in step order: that of the latest attempt. Steps done twice stay on the record."""
    latest: dict[int, Record] = {}
    for record in records:
        latest[record["step"]] = record
    return [latest[step] for step in sorted(latest)]


def read_json(path: Path) -> Record:
    """Return the JSON object in a file."""
    value: Record = orjson.loads(path.read_bytes())
    return value


def write_json(path: Path, value: Record) -> None:
    """Write a JSON file that is whole or not there."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with temporary.open("wb") as file:
        file.write(orjson.dumps(value, option=_PRETTY))
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    fsync_folder(path.parent)


def _whole_length(path: Path) -> int:
    return path.read_bytes().rfind(b"\n") + 1 if path.exists() else 0


def _cut_half_line(path: Path) -> None:
    whole = _whole_length(path)
    if path.exists() and path.stat().st_size > whole:
        os.truncate(path, whole)
