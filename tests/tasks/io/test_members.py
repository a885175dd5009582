"""Gzip members: their ends, and the search for the next good one."""

import gzip
import io

import pytest

from tasks.io.members import BrokenMember, Member, next_member


def test_a_member_knows_where_it_ends_when_it_was_read() -> None:
    first, second = gzip.compress(b"x" * 10_000), gzip.compress(b"y")
    member = Member(io.BytesIO(first + second), 0)
    content = b""
    while block := member.read(100):
        assert len(block) <= 100
        content += block
    assert (content, member.end) == (b"x" * 10_000, len(first))


def test_a_cut_member_is_broken() -> None:
    member = Member(io.BytesIO(gzip.compress(b"some text to cut")[:-3]), 0)
    with pytest.raises(BrokenMember, match="truncated_record"):
        list(iter(lambda: member.read(100), b""))


def test_the_next_member_is_the_next_one_with_the_wanted_start() -> None:
    noise = b"\x1f\x8b\x08" + bytes(300_000)
    other, wanted = gzip.compress(b"HTTP/1.1"), gzip.compress(b"WARC/1.0")
    file = io.BytesIO(noise + other + wanted)
    assert next_member(file, 0, b"WARC/") == len(noise) + len(other)
    assert next_member(file, len(noise) + len(other) + 1, b"WARC/") == -1
