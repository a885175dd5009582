"""Gzip members one by one: each is decompressed by itself, and a broken one does not hide those behind it."""

import zlib
from typing import IO

GZIP_MAGIC = b"\x1f\x8b\x08"
_BLOCK_BYTES = 1 << 18
_PROBE_BYTES = 4096


class BrokenMember(Exception):
    """A gzip member that cannot be read on from here."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(reason, detail)
        self.reason = reason
        self.detail = detail


class Member:
    """The decompressed bytes of one gzip member; ``end`` is known when all of them were read."""

    def __init__(self, file: IO[bytes], offset: int) -> None:
        self._file = file
        self._position = offset
        self._inflate = zlib.decompressobj(31)
        self._rest = b""
        self.end = -1

    def read(self, size: int) -> bytes:
        """Return up to ``size`` bytes, nothing at the end.

        Raises:
            BrokenMember: the compressed bytes are broken, or stop too early.
        """
        while not self._inflate.eof:
            block = self._rest or self._next_block()
            try:
                content = self._inflate.decompress(block, size)
            except zlib.error as error:
                raise BrokenMember("broken_gzip_member", str(error)) from error
            if not block and not content:
                raise BrokenMember("truncated_record", "the file ends inside a gzip member")
            self._rest = self._inflate.unconsumed_tail
            if content:
                return content
        self.end = self._position - len(self._inflate.unused_data)
        return b""

    def _next_block(self) -> bytes:
        self._file.seek(self._position)
        block = self._file.read(_BLOCK_BYTES)
        self._position += len(block)
        return block


def next_member(file: IO[bytes], begin: int, start: bytes) -> int:
    """Return the offset of the next gzip member whose content starts with ``start``, or -1."""
    position = begin
    while True:
        file.seek(position)
        block = file.read(_BLOCK_BYTES)
        found = block.find(GZIP_MAGIC)
        while found >= 0:
            file.seek(position + found)
            if _starts(file.read(_PROBE_BYTES), start):
                return position + found
            found = block.find(GZIP_MAGIC, found + 1)
        if len(block) < _BLOCK_BYTES:
            return -1
        position += len(block) - len(GZIP_MAGIC) + 1


def _starts(compressed: bytes, start: bytes) -> bool:
    try:
        return zlib.decompressobj(31).decompress(compressed, _PROBE_BYTES).lstrip(b"\r\n").startswith(start)
    except zlib.error:
        return False
