"""From a text to its exact hash, its shingles and its MinHash signature.

Definitions. Normalised text: Unicode NFC, case folded, every run of white space one space, punctuation kept. Exact
hash: XXH3-128 of that. Shingles: runs of five words (:mod:`tasks.core.words`, so punctuation does not count), or
runs of five characters of the normalised text when most of it is in scripts written without spaces; a shorter text
is one shingle; a text without words has none and is never compared. Signature: datasketch's "affine32" scheme over
the upper 32 bits of each shingle's hash, value for value. No ``hash()``, no state: equal in every process.
Cost: about 1,600 web pages (6 MB) a CPU second.
"""

import unicodedata
from datetime import UTC, datetime, timedelta
from functools import lru_cache

import numpy as np
from datasketch import MinHash
from numpy.typing import NDArray
from xxhash import xxh3_64_intdigest, xxh3_128_digest

from tasks.core.signatures import Shingles
from tasks.core.words import is_unspaced, split_words

NORMALISATION = "nfc-casefold-spaces/1"
ALGORITHM = "minhash-affine32-xxh3/1"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_UNDATED = (1 << 64) - 1
_BEFORE_EPOCH = 1 << 63
_BASE = np.uint64(0x9E37_79B9_7F4A_7C15)
_BLOCK_SHINGLES = 4096
_HIGHEST = np.uint32(0xFFFF_FFFF)


def normalised(text: str) -> str:
    """Return the text as it is compared: NFC, case folded, white space as single spaces."""
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
    return " ".join(folded.split())


def exact_hash(text: str) -> bytes:
    """Return the 128-bit hash of a normalised text."""
    return xxh3_128_digest(_encoded(text))


def order_key(fetched_at: datetime | None, doc_id: bytes) -> bytes:
    """Return 24 bytes that sort by age: oldest first, undated last, then by id."""
    microseconds = _UNDATED if fetched_at is None else (fetched_at - _EPOCH) // _MICROSECOND + _BEFORE_EPOCH
    return microseconds.to_bytes(8, "big") + doc_id


def shingles_of(text: str, num_words: int, num_characters: int) -> Shingles:
    """Return the distinct shingles of a normalised text, ascending."""
    if is_unspaced(text):
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint64)
        return _windows(mixed(codes + _BASE), num_characters)
    words = split_words(text)
    hashes = {word: xxh3_64_intdigest(_encoded(word)) for word in set(words)}
    return _windows(np.fromiter(map(hashes.__getitem__, words), np.uint64, len(words)), num_words)


def minhash(shingles: Shingles, num_permutations: int, seed: int) -> NDArray[np.uint32]:
    """Return the MinHash values; all ones (2^32 - 1) of an empty set."""
    multipliers, addends = _permutations(num_permutations, seed)
    values = np.full(num_permutations, _HIGHEST, np.uint32)
    hashes = _mixed32((shingles >> np.uint64(32)).astype(np.uint32))
    for start in range(0, len(hashes), _BLOCK_SHINGLES):
        block = hashes[None, start : start + _BLOCK_SHINGLES]
        np.minimum(values, (block * multipliers + addends).min(axis=1), out=values)
    return values


def mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a bijective scramble of 64-bit numbers (the finaliser of MurmurHash3)."""
    values = (values ^ (values >> np.uint64(33))) * np.uint64(0xFF51_AFD7_ED55_8CCD)
    values = (values ^ (values >> np.uint64(33))) * np.uint64(0xC4CE_B9FE_1A85_EC53)
    return values ^ (values >> np.uint64(33))


def _windows(hashes: NDArray[np.uint64], size: int) -> Shingles:
    """Hash each run of ``size`` hashes as a polynomial; a shorter text is one run of all it has."""
    size = min(size, len(hashes))
    if not size:
        return np.empty(0, np.uint64)
    runs = len(hashes) - size + 1
    total = np.full(runs, size, np.uint64)
    for offset in range(size):
        total = total * _BASE + hashes[offset : offset + runs]
    return np.unique(mixed(total))


def _mixed32(values: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Do what datasketch does to each hash first: MurmurHash3's 32-bit finaliser."""
    values = (values ^ (values >> np.uint32(16))) * np.uint32(0x85EB_CA6B)
    values = (values ^ (values >> np.uint32(13))) * np.uint32(0xC2B2_AE35)
    return values ^ (values >> np.uint32(16))


@lru_cache(maxsize=8)
def _permutations(num_permutations: int, seed: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    multipliers, addends = MinHash(num_perm=num_permutations, seed=seed, scheme="affine32").permutations
    return multipliers[:, None], addends[:, None]


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
