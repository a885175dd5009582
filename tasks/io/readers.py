"""One way in for every format: an input's raw documents, and a bad record for what cannot be read.

Files are opened through fsspec. Damaged content costs its record, and a file that cannot be read at all costs one
record of reason ``unreadable_file``; the run goes on. Only a remote store that fails is raised, because trying
again may help there.
"""

import gzip
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator
from typing import IO

import fsspec
import pyarrow as pa
import zstandard

from tasks.core.document import BadRecord, Locator, RawDocument
from tasks.core.errors import InputError
from tasks.io.compressed import decompressed
from tasks.io.inputs import Input
from tasks.io.jsonl import read_jsonl, read_parquet
from tasks.io.trees import Licenses, is_local, read_file
from tasks.io.warc import read_warc

_DAMAGE = (gzip.BadGzipFile, EOFError, zlib.error, zstandard.ZstdError, pa.ArrowException)
_PLAIN_FILES = ("html", "text", "tree")
_SPOOL_BYTES = 64 << 20

Reader = Callable[[IO[bytes], str], Iterator[RawDocument | BadRecord]]


def read(item: Input) -> Iterator[RawDocument | BadRecord]:
    """Yield every document and every bad record of an input, in file order.

    Raises:
        InputError: a remote file cannot be read, or a ``REUSE.toml`` is malformed.
    """
    licenses = Licenses()
    for name, url in item.files:
        try:
            yield from _read(name, url, item.format, licenses)
        except _DAMAGE as error:
            yield _unreadable(name, error)
        except OSError as error:
            if not is_local(url):
                raise InputError(f"source {item.source}", f"cannot read {url} ({error})", "start again") from error
            yield _unreadable(name, error)


def _read(name: str, url: str, input_format: str, licenses: Licenses) -> Iterator[RawDocument | BadRecord]:
    if input_format == "warc":
        yield from _read_seekable(read_warc, name, url)
    elif input_format == "parquet":
        yield from _read_seekable(read_parquet, name, url)
    elif input_format == "jsonl":
        with fsspec.open(url, "rb") as file:
            yield from read_jsonl(decompressed(file, name), name)
    else:
        yield from read_file(name, url, input_format, licenses)


def licenses_fingerprint(item: Input) -> str:
    """Return a fingerprint of the licences stated beside an input's files; empty for formats that carry their own.

    Raises:
        InputError: a ``REUSE.toml`` is malformed.
    """
    return Licenses().fingerprint(item.files) if item.format in _PLAIN_FILES else ""


def _read_seekable(reader: Reader, name: str, url: str) -> Iterator[RawDocument | BadRecord]:
    """Read a file that must be seekable; a stream that is not is copied to a temporary file first."""
    with fsspec.open(url, "rb") as file:
        if file.seekable():
            yield from reader(file, name)
            return
        with tempfile.SpooledTemporaryFile(_SPOOL_BYTES) as copy:
            shutil.copyfileobj(file, copy)
            copy.seek(0)
            yield from reader(copy, name)


def _unreadable(name: str, error: Exception) -> BadRecord:
    return BadRecord(Locator(name, 0), "unreadable_file", f"{type(error).__name__}: {error}")
