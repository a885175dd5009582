"""Compressed files as streams that say when they are cut: gzip by the standard library, Zstandard frame by frame."""

import gzip
import io
from typing import IO, Any

import zstandard

_BLOCK_BYTES = 4096


def decompressed(file: IO[bytes], name: str) -> IO[bytes]:
    """Return the content of an open file, decompressed as its name's suffix says.

    Reading raises ``EOFError`` when the file ends inside a compressed stream.
    """
    if name.endswith(".gz"):
        return io.BufferedReader(gzip.GzipFile(fileobj=file))
    if name.endswith((".zst", ".zstd")):
        return io.BufferedReader(_ZstandardFrames(file), 1 << 18)
    return file


class _ZstandardFrames(io.RawIOBase):
    """All frames of a Zstandard file, one after the other."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._frame = _new_frame()
        self._inside = False
        self._input = b""
        self._output = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:  # noqa: ANN401 - any writable buffer
        while not self._output:
            block = self._input or self._file.read(_BLOCK_BYTES)
            if not block:
                if self._inside:
                    raise EOFError("the file ends inside a Zstandard frame")
                return 0
            self._inside = True
            self._output = self._frame.decompress(block)
            self._input = b""
            if self._frame.eof:
                self._input, self._frame, self._inside = self._frame.unused_data, _new_frame(), False
        size = min(len(buffer), len(self._output))
        buffer[:size] = self._output[:size]
        self._output = self._output[size:]
        return size


def _new_frame() -> Any:  # noqa: ANN401 - zstandard names no public type
    return zstandard.ZstdDecompressor().decompressobj()
