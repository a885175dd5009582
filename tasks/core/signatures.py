"""MinHash signatures and found duplicates as arrays: what dedup's pure part and its files exchange."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Shingles = NDArray[np.uint64]
"""The distinct shingles of one text as 64-bit hashes, ascending."""


@dataclass(frozen=True, slots=True)
class Signature:
    """One document: age (older sorts first), hash of its normalised text, and its MinHash values."""

    order_key: bytes
    exact_hash: bytes
    num_shingles: int
    values: NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class SignatureTable:
    """Many signatures, a document per row; byte strings as big-endian 64-bit numbers, names as codes."""

    order_keys: NDArray[np.uint64]
    exact_hashes: NDArray[np.uint64]
    num_shingles: NDArray[np.int64]
    values: NDArray[np.uint32]
    sources: NDArray[np.int64]
    snapshots: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Duplicates:
    """Rows to remove (ascending), the kept row each duplicates, their true similarity, whether the text is the same."""

    rows: NDArray[np.int64]
    duplicate_of: NDArray[np.int64]
    similarity: NDArray[np.float64]
    exact: NDArray[np.bool_]
    threshold: float


LoadShingles = Callable[[NDArray[np.int64]], dict[int, Shingles]]
"""Give the shingles of rows; called once, for the candidates only."""
