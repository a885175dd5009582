"""The store: one root, a local path or any fsspec URL, where files appear whole or not at all.

Every write goes to a private temporary file first. On a local store that file is fsynced and renamed into
place; on an object store it is uploaded in one put. A killed process leaves its temporary files only in its
own locked folder, which the next start of any process sweeps away (:meth:`Store.sweep`).
"""

import atexit
import errno
import fcntl
import hashlib
import os
import shutil
import tempfile
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import IO, Any

import fsspec
import orjson

from tasks.core.errors import StoreError

_BLOCK_BYTES = 1 << 20
NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT})


class Store:
    """Files under one root. Paths are relative to it, with forward slashes."""

    def __init__(self, url: str) -> None:
        self.url = str(url).rstrip("/") or "/"
        try:
            self._fs, root = fsspec.core.url_to_fs(self.url)
        except (ValueError, ImportError) as error:
            raise StoreError(
                self.url, f"cannot be opened ({error})", "check the URL, and install what it needs"
            ) from error
        self._root = str(root).rstrip("/")
        self.is_local = "file" in _protocols(self._fs)
        self._temporary = _temporary_folder(str(Path(self._root) / "tmp") if self.is_local else tempfile.gettempdir())

    def __reduce__(self) -> tuple[type["Store"], tuple[str]]:
        return (Store, (self.url,))

    def path(self, name: str) -> str:
        """Return the full path of a file for the store's file system."""
        if name.startswith("/") or ".." in name.split("/"):
            raise StoreError(self.url, f"path {name!r} leaves the store", "use a path below the store's root")
        return f"{self._root}/{name}" if name else self._root

    def local_path(self, name: str) -> Path:
        """Return the path of a file of a local store.

        Raises:
            StoreError: the store is not local.
        """
        if not self.is_local:
            raise StoreError(self.url, "this step needs a local store", "set `store` to a folder of this machine")
        return Path(self.path(name))

    def exists(self, name: str) -> bool:
        """Tell whether a file is there (whole, by construction)."""
        return bool(self._fs.exists(self.path(name)))

    def list(self, folder: str, suffix: str = "") -> list[str]:
        """Return the names of all files below a folder, sorted."""
        if not self._fs.exists(self.path(folder)):
            return []
        names = (str(item)[len(self._root) + 1 :] for item in self._fs.find(self.path(folder)))
        return sorted(name for name in names if name.endswith(suffix))

    def open(self, name: str) -> IO[bytes]:
        """Open a file for reading."""
        handle: IO[bytes] = self._fs.open(self.path(name), "rb")
        return handle

    def read_bytes(self, name: str) -> bytes:
        """Return the content of a file."""
        with self.open(name) as file:
            return file.read()

    def read_json(self, name: str) -> Any:  # noqa: ANN401 - JSON
        """Return the JSON content of a file."""
        return orjson.loads(self.read_bytes(name))

    def sha256(self, name: str) -> str:
        """Return the SHA-256 (hex) of a file."""
        with self.open(name) as file:
            return sha256_of(file)

    @contextmanager
    def writing(self, name: str) -> Iterator[Path]:
        """Give a temporary local path; when the block ends well, its file appears at ``name``.

        Raises:
            StoreError: no space is left, or the store is not writable.
        """
        target = self.path(name)
        temporary = self._temporary.new_file(Path(name).suffix)
        try:
            yield temporary
            self._publish(temporary, target)
        except OSError as error:
            raise self._explained(error) from error
        finally:
            temporary.unlink(missing_ok=True)

    def write_bytes(self, name: str, content: bytes) -> None:
        """Write a file whole."""
        with self.writing(name) as temporary:
            temporary.write_bytes(content)

    def write_json(self, name: str, value: Any) -> None:  # noqa: ANN401 - JSON
        """Write JSON, indented and with sorted keys."""
        options = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
        self.write_bytes(name, orjson.dumps(value, option=options))

    def sweep(self) -> int:
        """Remove temporary files of processes that are gone; return how many folders went."""
        return self._temporary.sweep() if self.is_local else 0

    def _publish(self, temporary: Path, target: str) -> None:
        if not self.is_local:
            self._fs.put_file(str(temporary), target)
            return
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        Path(target).parent.mkdir(parents=True, exist_ok=True)
        temporary.replace(target)
        fsync_folder(Path(target).parent)

    def _explained(self, error: OSError) -> Exception:
        if error.errno in NO_SPACE:
            return StoreError(
                self.url, "no space left on the device", "free space there, then start again: finished work is kept"
            )
        if error.errno in {errno.EACCES, errno.EROFS, errno.EPERM}:
            return StoreError(
                self.url, f"cannot write ({error.strerror})", "give this user write access, or set `store`"
            )
        return error


class _TemporaryFolder:
    """A folder of this process below ``parent``, locked as long as the process lives, removed when it ends."""

    def __init__(self, parent: Path) -> None:
        self._parent = parent
        self._owner = 0
        self._folder = parent
        self._claiming = threading.Lock()
        atexit.register(self._remove)

    def new_file(self, suffix: str) -> Path:
        """Return the path of a file that does not exist yet."""
        with self._claiming:
            if self._owner != os.getpid():
                self._claim()
        return self._folder / f"{uuid.uuid4().hex}{suffix}"

    def sweep(self) -> int:
        """Remove the folders whose owner is gone."""
        removed = 0
        for lock in self._parent.glob("*.lock"):
            with lock.open("ab") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    continue
                shutil.rmtree(lock.with_suffix(""), ignore_errors=True)
                lock.unlink(missing_ok=True)
                removed += 1
        return removed

    def _claim(self) -> None:
        try:
            self._parent.mkdir(parents=True, exist_ok=True)
            while True:
                self._folder = self._parent / f"glassworks-{os.getpid()}-{uuid.uuid4().hex[:8]}"
                # The descriptor stays open, and so the lock is held, until the process ends.
                descriptor = os.open(self._folder.with_suffix(".lock"), os.O_CREAT | os.O_WRONLY)
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                if self._folder.with_suffix(".lock").exists():  # else a sweep took it between open and flock
                    break
                os.close(descriptor)
            self._folder.mkdir()
        except OSError as error:
            raise StoreError(
                str(self._parent),
                f"cannot create temporary files ({error.strerror})",
                "check the path, its owner and its space",
            ) from error
        self._owner = os.getpid()

    def _remove(self) -> None:
        if self._owner == os.getpid():
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder.with_suffix(".lock").unlink(missing_ok=True)


@cache
def _temporary_folder(parent: str) -> _TemporaryFolder:
    return _TemporaryFolder(Path(parent))


def sha256_of(file: IO[bytes]) -> str:
    """Return the SHA-256 (hex) of an open binary file."""
    digest = hashlib.sha256()
    while block := file.read(_BLOCK_BYTES):
        digest.update(block)
    return digest.hexdigest()


def fsync_folder(folder: Path) -> None:
    """Make a rename in a folder survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _protocols(fs: Any) -> tuple[str, ...]:  # noqa: ANN401 - fsspec is untyped
    return (fs.protocol,) if isinstance(fs.protocol, str) else tuple(fs.protocol)
