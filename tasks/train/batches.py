"""Which rows a step trains on: a pure function of seed, step and global batch size.

Global batch ``s`` (from 0) is rows ``[sB, (s+1)B)`` of the endless row sequence. Its first ``N`` rows are the data
version in file order; every later epoch is the same rows in an order of its own, by a Feistel permutation keyed with
the seed and the epoch. Nothing else enters: not the world size, the micro-batch, the number of steps or resumes.
Cost: a few array operations per batch, no table of the order in memory.
"""

import hashlib

import numpy as np
import numpy.typing as npt

from tasks.core.seeds import hash64

Rows = npt.NDArray[np.int64]
_ROUNDS = 6
_STEPS_PER_BLOCK = 4096


def global_batch(step: int, size: int, num_rows: int, seed: int) -> Rows:
    """Return the row numbers of global batch ``step`` (from 0), in order."""
    return rows_at(np.arange(step * size, (step + 1) * size, dtype=np.int64), num_rows, seed)


def rows_at(positions: Rows, num_rows: int, seed: int) -> Rows:
    """Return the rows of the version at positions of the endless row sequence."""
    epochs = positions // num_rows
    places = positions % num_rows
    rows = places.copy()
    for epoch in np.unique(epochs):
        if epoch > 0:
            chosen = epochs == epoch
            rows[chosen] = permuted(places[chosen], num_rows, seed, int(epoch))
    return rows


def rank_rows(rows: Rows, rank: int, world_size: int) -> Rows:
    """Return a rank's slice of a global batch; the slices of all ranks are the batch, without overlap."""
    share = len(rows) // world_size
    return rows[rank * share : (rank + 1) * share]


def permuted(places: Rows, num_rows: int, seed: int, epoch: int) -> Rows:
    """Map places of an epoch to rows, one to one, by a Feistel network with cycle walking."""
    half = max(1, (max(num_rows - 1, 1).bit_length() + 1) // 2)
    keys = [hash64(seed, "epoch", epoch, number) for number in range(_ROUNDS)]
    values = _encrypt(places.astype(np.uint64), half, keys)
    while (outside := values >= num_rows).any():
        values[outside] = _encrypt(values[outside], half, keys)
    return values.astype(np.int64)


def batch_order_hash(num_steps: int, size: int, num_rows: int, seed: int) -> str:
    """Return the SHA-256 (hex) over the row numbers of the first ``num_steps`` global batches."""
    digest = hashlib.sha256()
    for first in range(0, num_steps, _STEPS_PER_BLOCK):
        last = min(first + _STEPS_PER_BLOCK, num_steps)
        positions = np.arange(first * size, last * size, dtype=np.int64)
        digest.update(rows_at(positions, num_rows, seed).astype("<u8").tobytes())
    return digest.hexdigest()


def _encrypt(values: npt.NDArray[np.uint64], half: int, keys: list[int]) -> npt.NDArray[np.uint64]:
    bits, mask = np.uint64(half), np.uint64((1 << half) - 1)
    left, right = values >> bits, values & mask
    for key in keys:
        left, right = right, left ^ (_mixed(right ^ np.uint64(key)) & mask)
    return (left << bits) | right


def _mixed(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Mix 64 bits (the finaliser of splitmix64; multiplication wraps)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
