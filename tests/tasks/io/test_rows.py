"""Rows by number, ahead of need; shards that are not as the manifest says stop the run before it starts."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from tasks.core.errors import InputError
from tasks.core.manifest import Manifest
from tasks.io.rows import RowReader, read_ahead
from tasks.io.store import Store


def reader(store: Store, manifest: Manifest, max_bytes: int = 1 << 30) -> RowReader:
    return RowReader(store, manifest.version, manifest.train_shards, manifest.sequence_length, max_bytes)


@pytest.fixture
def manifest(store: Store, version_in: Callable[..., Manifest]) -> Manifest:
    return version_in(store)


@pytest.mark.parametrize("max_bytes", [1, 1 << 30])
def test_rows_come_in_the_order_asked_whatever_shard_they_are_in(
    store: Store, manifest: Manifest, max_bytes: int
) -> None:
    root = Path(store.path(f"versions/{manifest.version}"))
    rows = [row for shard in manifest.train_shards for row in pq.read_table(root / shard.path).to_pylist()]
    numbers = np.array([47, 0, 21, 19, 20, 5, 40, 0])
    found = reader(store, manifest, max_bytes).read(numbers)
    for place, number in enumerate(numbers):
        assert found.input_ids[place].tolist() == rows[number]["input_ids"]
        assert found.num_tokens[place] == rows[number]["num_tokens"]
        expected = [index for index, length in enumerate(rows[number]["segment_lengths"]) for _ in range(length)]
        assert found.segment_ids[place].tolist() == expected + [-1] * (32 - len(expected))


def test_b60_missing_and_short_shards_are_all_named_before_the_start(store: Store, manifest: Manifest) -> None:
    root = Path(store.path(f"versions/{manifest.version}"))
    (root / manifest.train_shards[1].path).unlink()
    whole = (root / manifest.train_shards[2].path).read_bytes()
    (root / manifest.train_shards[2].path).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"2 shard.*00001-of-00003.parquet: missing; .*00002-of-00003.parquet: not a"):
        reader(store, manifest).check()


def test_a_flipped_byte_is_found_when_the_shard_is_read(store: Store, manifest: Manifest) -> None:
    file = Path(store.path(f"versions/{manifest.version}/{manifest.train_shards[0].path}"))
    content = bytearray(file.read_bytes())
    content[100] ^= 1
    file.write_bytes(bytes(content))
    with pytest.raises(InputError, match="damaged"):
        reader(store, manifest).read(np.array([3]))


def test_reading_ahead_gives_the_same_rows_and_ends(store: Store, manifest: Manifest) -> None:
    requests = [np.array([1, 2]), np.array([40, 3]), np.array([7])]
    plain = reader(store, manifest)
    found = [rows for rows, waited in read_ahead(reader(store, manifest), requests) if waited >= 0]
    for rows, numbers in zip(found, requests, strict=True):
        assert np.array_equal(rows.input_ids, plain.read(numbers).input_ids)


def test_a_fault_of_the_reading_thread_reaches_the_consumer(store: Store, manifest: Manifest) -> None:
    Path(store.path(f"versions/{manifest.version}/{manifest.train_shards[2].path}")).unlink()
    ahead = read_ahead(reader(store, manifest), [np.array([1]), np.array([45])])
    next(ahead)
    with pytest.raises(FileNotFoundError):
        next(ahead)
