"""Compressed streams: every frame is read, and a cut one is noticed."""

import gzip
import io

import pytest
import zstandard

from tasks.io.compressed import decompressed

LINES = b"".join(b"line %d\n" % number for number in range(50_000))


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.jsonl.zst"])
def test_several_frames_are_one_stream(name: str) -> None:
    compress = {"l": bytes, "z": gzip.compress, "t": zstandard.ZstdCompressor().compress}[name[-1]]
    half = len(LINES) // 2
    content = compress(LINES[:half]) + compress(LINES[half:])
    assert b"".join(decompressed(io.BytesIO(content), name)) == LINES


@pytest.mark.parametrize("name", ["a.gz", "a.zst"])
def test_a_cut_stream_raises_at_its_end(name: str) -> None:
    compress = gzip.compress if name == "a.gz" else zstandard.ZstdCompressor().compress
    with pytest.raises(EOFError):
        decompressed(io.BytesIO(compress(LINES)[:-5]), name).read()


def test_a_compressed_stream_of_nothing_is_empty() -> None:
    assert decompressed(io.BytesIO(b""), "a.zst").read() == b""
