"""Framing: whole records come out with their offsets, and damage costs only the damaged record."""

import gzip
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.core.document import BadRecord
from tasks.io.framing import MAX_RECORD_BYTES, Frame, frames


def record(block: bytes, length: int | None = None) -> bytes:
    declared = len(block) if length is None else length
    return b"WARC/1.0\r\nWARC-Type: response\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n" % (declared, block)


def read(content: bytes) -> list[Frame | BadRecord]:
    return list(frames(io.BytesIO(content), "a.warc"))


def offsets(content: bytes) -> tuple[list[int], list[tuple[int, str]]]:
    found = read(content)
    good = [item.offset for item in found if isinstance(item, Frame)]
    return good, [(item.locator.offset, item.reason) for item in found if isinstance(item, BadRecord)]


A, B, C = record(b"first"), record(b"second one"), record(b"third")


def test_plain_and_compressed_files_give_the_same_records() -> None:
    plain = [frame.content for frame in read(A + B + C) if isinstance(frame, Frame)]
    members = [frame.content for frame in read(b"".join(map(gzip.compress, (A, B, C)))) if isinstance(frame, Frame)]
    together = read(gzip.compress(A + B + C))
    assert plain == members == [A[:-4], B[:-4], C[:-4]]
    assert [(frame.offset, frame.position) for frame in together if isinstance(frame, Frame)] == [
        (0, 0), (0, len(A)), (0, len(A + B)),
    ]  # fmt: skip


def test_offsets_are_those_of_members_or_of_bytes() -> None:
    first, second = len(gzip.compress(A)), len(gzip.compress(A)) + len(gzip.compress(B))
    assert offsets(b"".join(map(gzip.compress, (A, B, C)))) == ([0, first, second], [])
    assert offsets(A + B + C) == ([0, len(A), len(A) + len(B)], [])


@pytest.mark.parametrize("wrong", [3, 15, 4000, 10**30, MAX_RECORD_BYTES + 1])
def test_a_wrong_length_costs_its_record_only(wrong: int) -> None:
    bad = record(b"second one", wrong)
    good, damaged = offsets(A + bad + C)
    assert good == [0, len(A + bad)]
    assert [offset for offset, _ in damaged] == [len(A)]
    good, damaged = offsets(b"".join(map(gzip.compress, (A, bad, C))))
    assert good == [0, len(gzip.compress(A) + gzip.compress(bad))]
    assert [offset for offset, _ in damaged] == [len(gzip.compress(A))]


def test_a_truncated_last_record_is_reported_at_its_offset() -> None:
    assert offsets(A + B[:-12]) == ([0], [(len(A), "truncated_record")])
    first = gzip.compress(A)
    assert offsets(first + gzip.compress(B)[:-9]) == ([0], [(len(first), "truncated_record")])


def test_a_broken_member_costs_itself_and_reading_goes_on_behind_it() -> None:
    first, second = gzip.compress(A), bytearray(gzip.compress(B))
    second[-8] ^= 0xFF  # its checksum
    assert offsets(first + bytes(second) + gzip.compress(C)) == (
        [0, len(first) + len(second)], [(len(first), "broken_gzip_member")],
    )  # fmt: skip


def test_files_that_are_no_warc_are_one_bad_record() -> None:
    assert offsets(b"") == ([], [(0, "empty_file")])
    assert offsets(b"<html>not found</html>") == ([], [(0, "bad_warc_header")])
    assert offsets(gzip.compress(b"<html>not found</html>")) == ([], [(0, "bad_warc_header")])


@given(st.binary(max_size=300), st.booleans())
def test_any_bytes_give_frames_or_bad_records_and_never_raise(noise: bytes, compressed: bool) -> None:
    pack = gzip.compress if compressed else bytes
    for content in (noise, pack(noise), pack(A) + noise, b"\x1f\x8b\x08" + noise, b"WARC/1.0\r\n" + noise):
        assert read(content), "not even a bad record"


@given(st.integers(0, 3 * len(A)), st.integers(1, 255), st.booleans())
def test_a_changed_byte_never_costs_more_than_one_neighbour(place: int, change: int, compressed: bool) -> None:
    parts = [gzip.compress(A) if compressed else A] * 4
    content = bytearray(b"".join(parts))
    content[place % len(content)] ^= change
    good, _ = offsets(bytes(content))
    assert len(good) >= 2
