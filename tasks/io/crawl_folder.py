"""A folder that appears whole: it is built beside its place and renamed, and holds a summary, written last.

A killed build leaves a hidden sibling, which the next build of the same folder removes; a lock keeps two
builds apart. An earlier build is replaced; anything else is left alone and refused.
"""

import errno
import fcntl
import gzip
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tasks.core.errors import InputError, StoreError
from tasks.io.store import fsync_folder


class NewFolder:
    """The folder while it is being built; counts what is written below each of its top folders."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._sizes: dict[str, list[int]] = {}

    def write(self, name: str, data: bytes) -> None:
        """Write a file."""
        target = self._root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        self._sizes.setdefault(name.partition("/")[0], []).append(len(data))

    def write_gzip(self, name: str, data: bytes) -> None:
        """Write a gzipped file without a time stamp."""
        self.write(name, gzip.compress(data, mtime=0))

    def measured(self, top: str) -> dict[str, int]:
        """Return number of files and bytes below a top folder."""
        sizes = self._sizes.get(top, [])
        return {"num_files": len(sizes), "num_bytes": sum(sizes)}


class CrawlFolder:
    """A folder with a summary file in it."""

    def __init__(self, path: Path, summary_name: str) -> None:
        self._path = path.absolute()
        self._summary_name = summary_name

    def summary(self) -> dict[str, Any] | None:
        """Return the summary of the finished build that is there, or None."""
        try:
            summary = json.loads((self._path / self._summary_name).read_bytes())
        except (FileNotFoundError, NotADirectoryError, ValueError):
            return None
        return summary if isinstance(summary, dict) else None

    @contextmanager
    def building(self) -> Iterator[NewFolder]:
        """Give a folder to fill; when the block ends well, it takes its place.

        Raises:
            InputError: something else is there.
            StoreError: the place is full or not writable.
        """
        if self._path.exists() and self.summary() is None and not _is_empty(self._path):
            raise InputError(str(self._path), "is there and is no crawl", "name a new or empty folder")
        new, old = self._beside("new"), self._beside("old")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._beside("lock").open("ab") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                for left_over in (new, old):
                    shutil.rmtree(left_over, ignore_errors=True)
                new.mkdir()
                yield NewFolder(new)
                if self._path.exists():
                    self._path.rename(old)
                new.rename(self._path)
                fsync_folder(self._path.parent)
                shutil.rmtree(old, ignore_errors=True)
                self._beside("lock").unlink(missing_ok=True)
        except OSError as error:
            raise self._explained(error) from error
        finally:
            shutil.rmtree(new, ignore_errors=True)

    def _beside(self, kind: str) -> Path:
        return self._path.with_name(f".{self._path.name}.{kind}")

    def _explained(self, error: OSError) -> Exception:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            return StoreError(str(self._path), "no space left on the device", "free space there, then start again")
        if error.errno in {errno.EACCES, errno.EROFS, errno.EPERM}:
            return StoreError(str(self._path), f"cannot write ({error.strerror})", "give this user write access")
        return error


def read_folder(path: Path, suffix: str) -> dict[str, bytes]:
    """Return the contents of a folder's files by name, sorted."""
    return {file.name: file.read_bytes() for file in sorted(path.iterdir()) if file.name.endswith(suffix)}


def _is_empty(path: Path) -> bool:
    return path.is_dir() and not any(path.iterdir())
