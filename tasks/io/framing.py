"""Where WARC records begin and end, also in damaged files: nothing but the damaged record is lost.

A compressed WARC is a row of gzip members. Each is decompressed by itself, so a broken or cut member costs its own
records, and reading goes on at the next member whose content starts with a WARC header. Inside the
decompressed (or plain) bytes, a record must be as long as it says and be followed by another one or by the end; if
not, reading goes on at the next line that starts with a WARC header. Memory: one record and one block of the file.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO

from tasks.core.document import BadRecord, Locator
from tasks.io.members import GZIP_MAGIC, BrokenMember, Member, next_member

MAX_RECORD_BYTES = 256 << 20
_BLOCK_BYTES = 1 << 18
_MAX_HEADER_BYTES = 1 << 20
_WARC = b"WARC/"
_BLANK_LINE = re.compile(rb"\r\n\r\n|\n\n")


@dataclass(frozen=True, slots=True)
class Frame:
    """One whole WARC record: where its bytes begin, and its bytes (header and block).

    ``position`` counts within the gzip member; it is 0 in the usual case of one record per member.
    """

    offset: int
    position: int
    content: bytes


class _Damage(Exception):
    """A record that cannot be read; the bytes around it can."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(reason, detail)
        self.reason = reason
        self.detail = detail


def frames(file: IO[bytes], name: str) -> Iterator[Frame | BadRecord]:
    """Yield all whole records of a seekable WARC file, and a :class:`BadRecord` for each damaged place."""
    head = file.read(len(_WARC))
    is_compressed = head.startswith(GZIP_MAGIC) or (head != _WARC and next_member(file, 0, _WARC) > 0)
    file.seek(0)
    is_empty = True
    for found in _compressed_frames(file, name) if is_compressed else _frames_of(file.read, name, None):
        is_empty = False
        yield found
    if is_empty:
        yield BadRecord(Locator(name, 0), "empty_file")


def _compressed_frames(file: IO[bytes], name: str) -> Iterator[Frame | BadRecord]:
    offset = 0
    end = file.seek(0, 2)
    while 0 <= offset < end:
        member = Member(file, offset)
        try:
            yield from _frames_of(member.read, name, offset)
            offset = member.end
        except BrokenMember as broken:
            yield BadRecord(Locator(name, offset), broken.reason, broken.detail)
            offset = next_member(file, offset + 1, _WARC)


def _frames_of(read: Callable[[int], bytes], name: str, member: int | None) -> Iterator[Frame | BadRecord]:
    """Cut decompressed bytes into records; ``member`` is the gzip member's offset, if there is one."""
    window = _Window(read)
    while window.skip_newlines():
        begin = window.start
        try:
            content = _record(window)
        except _Damage as damage:
            yield BadRecord(Locator(name, begin if member is None else member), damage.reason, damage.detail)
            window.skip(1)
            window.skip_to(b"\n" + _WARC)
            continue
        yield Frame(begin, 0, content) if member is None else Frame(member, begin, content)


def _record(window: "_Window") -> bytes:
    """Return the record at the start of the window and move behind it; on damage the window stays.

    Raises:
        _Damage: no WARC header, no usable length, or another length than the header says.
    """
    window.fill(len(_WARC))
    if not window.data.startswith(_WARC):
        raise _Damage("bad_warc_header", bytes(window.data[:20]).hex())
    body = window.find_blank_line(_MAX_HEADER_BYTES)
    if body < 0:
        raise _Damage("truncated_record" if window.ended else "bad_warc_header", "the header has no end")
    length = _content_length(bytes(window.data[:body]))
    if length > MAX_RECORD_BYTES:
        raise _Damage("record_too_large", f"{length} bytes, limit {MAX_RECORD_BYTES}")
    if not window.fill(body + length):
        found = len(window.data) - body
        if window.data.find(b"\n" + _WARC, body) >= 0:
            raise _Damage("bad_content_length", f"{length} reaches beyond the next record")
        raise _Damage("truncated_record", f"{found} of {length} bytes")
    if not window.followed_by_record(body + length):
        raise _Damage("bad_content_length", f"no record follows after {length} bytes")
    return window.take(body + length)


def _content_length(header: bytes) -> int:
    for line in header.splitlines():
        name, colon, value = line.partition(b":")
        if colon and name.strip().lower() == b"content-length" and value.strip().isdigit():
            return int(value.strip()[:20])
    raise _Damage("bad_warc_header", "no Content-Length")


class _Window:
    """A moving view of a stream: ``data`` starts at ``start`` and grows on demand."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read
        self.data = bytearray()
        self.start = 0
        self.ended = False

    def fill(self, size: int) -> bool:
        """Read until ``size`` bytes are there; tell whether they are."""
        while len(self.data) < size and not self.ended:
            block = self._read(_BLOCK_BYTES)
            self.data += block
            self.ended = not block
        return len(self.data) >= size

    def take(self, size: int) -> bytes:
        """Return the first bytes and move behind them."""
        content = bytes(self.data[:size])
        self.skip(size)
        return content

    def skip_newlines(self) -> bool:
        """Move to the next byte that is no line end; tell whether there is one."""
        while self.fill(1):
            stripped = len(self.data) - len(self.data.lstrip(b"\r\n"))
            if not stripped:
                return True
            self.skip(stripped)
        return False

    def skip_to(self, pattern: bytes) -> None:
        """Move to the next place where ``pattern`` stands, or to the end."""
        while (found := self.data.find(pattern)) < 0:
            self.skip(max(0, len(self.data) - len(pattern) + 1))
            if not self.fill(len(self.data) + 1):
                self.skip(len(self.data))
                return
        self.skip(found)

    def find_blank_line(self, limit: int) -> int:
        """Return the position behind the first blank line within ``limit`` bytes, or -1."""
        size = 4096
        while True:
            filled = self.fill(size)
            found = _BLANK_LINE.search(self.data, 0, size)
            if found:
                return found.end()
            if not filled or size >= limit:
                return -1
            size *= 4

    def followed_by_record(self, position: int) -> bool:
        """Tell whether only line ends, and then a WARC header or the end, come after ``position``."""
        size = position + 64
        self.fill(size)
        rest = bytes(self.data[position:size]).lstrip(b"\r\n")
        return not rest or rest.startswith(_WARC[: len(rest)])

    def skip(self, size: int) -> None:
        """Move on by ``size`` bytes."""
        del self.data[:size]
        self.start += size
