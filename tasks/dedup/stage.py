"""Settings of deduplication and its two pure steps: sign one document, find the duplicates among many.

Property: of equal or nearly equal documents within the scope the oldest stays, whatever the order of inputs or the
number of workers. ``VERSION`` is raised when a decision changes, ``SIGNATURE_VERSION`` when a signature does.
"""

from datetime import datetime
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from configs.base import Config, execution_field
from tasks.core.signatures import Duplicates, LoadShingles, Shingles, Signature, SignatureTable
from tasks.dedup.clusters import Rows, band_of, candidates_in, direct_duplicates, first_of_equal
from tasks.dedup.signature import ALGORITHM, NORMALISATION, exact_hash, minhash, normalised, order_key, shingles_of

VERSION = 1
SIGNATURE_VERSION = 1
STAGE = "dedup"
_LEAST_DETECTED = 0.5


class DedupConfig(Config):
    """What counts as a duplicate, and where it is looked for."""

    scope: Literal["global", "source", "snapshot"] = Field(
        "global", description="Compare all documents, those of one source, or those of one snapshot of one source."
    )
    threshold: float = Field(
        0.75, gt=0, le=1, description="Jaccard similarity of shingles from which the younger document goes."
    )
    num_bands: int = Field(14, ge=1, le=500, description="Bands of the signature; one equal band makes a candidate.")
    rows_per_band: int = Field(8, ge=1, le=100, description="MinHash values in a band; more find only closer pairs.")
    shingle_words: int = Field(5, ge=1, le=50, description="Words in a shingle.")
    shingle_characters: int = Field(
        5, ge=1, le=100, description="Characters in a shingle, for scripts written without spaces."
    )
    seed: int = Field(1, ge=0, lt=1 << 32, description="Seed of the permutations.")
    alarm_share: float = execution_field(
        0.5, ge=0, le=1, description="A source that loses more than this share of its documents is reported."
    )

    @model_validator(mode="after")
    def _finds_what_it_is_asked_for(self) -> Self:
        share = self.detected_share(self.threshold)
        if share < _LEAST_DETECTED:
            raise ValueError(
                f"{self.num_bands} bands of {self.rows_per_band} rows would find {share:.2g} of the pairs at the "
                f"threshold {self.threshold}; raise num_bands or lower rows_per_band"
            )
        return self

    @property
    def num_permutations(self) -> int:
        """MinHash values of a signature."""
        return self.num_bands * self.rows_per_band

    def detected_share(self, similarity: float) -> float:
        """Return the share of pairs of this similarity that become candidates: 1 - (1 - s^rows)^bands."""
        return float(1 - (1 - similarity**self.rows_per_band) ** self.num_bands)

    def signature_settings(self) -> dict[str, Any]:
        """Return everything that shapes a signature; signatures that differ here must not be compared."""
        return {
            "algorithm": ALGORITHM,
            "normalisation": NORMALISATION,
            "num_permutations": self.num_permutations,
            "seed": self.seed,
            "shingle_characters": self.shingle_characters,
            "shingle_words": self.shingle_words,
        }


def sign(doc_id: bytes, fetched_at: datetime | None, text: str, config: DedupConfig) -> Signature:
    """Sign one document."""
    plain = normalised(text)
    shingles = shingles_of(plain, config.shingle_words, config.shingle_characters)
    values = minhash(shingles, config.num_permutations, config.seed)
    return Signature(order_key(fetched_at, doc_id), exact_hash(plain), len(shingles), values)


def shingles_in(text: str, config: DedupConfig) -> Shingles:
    """Return the shingles of a text as it is stored."""
    return shingles_of(normalised(text), config.shingle_words, config.shingle_characters)


def find(table: SignatureTable, load: LoadShingles, config: DedupConfig) -> Duplicates:
    """Find all rows that go. Every partner is a kept row.

    A copy of a document that is itself a near-duplicate goes for the same reason as that document.
    """
    by_age = np.lexsort(table.order_keys.T[::-1])
    scopes = _scopes(table, config)[by_age]
    values = table.values[by_age]
    first = first_of_equal(np.column_stack((table.exact_hashes[by_age], scopes.astype(np.uint64))))
    alone = np.flatnonzero((first == np.arange(len(first))) & (table.num_shingles[by_age] > 0))
    columns = range(0, config.num_permutations, config.rows_per_band)
    bands = [band_of(values[:, start : start + config.rows_per_band], scopes, alone) for start in columns]
    candidates = candidates_in(bands)
    loaded = load(by_age[candidates])
    shingles = {age: loaded[row] for age, row in zip(candidates.tolist(), by_age[candidates].tolist(), strict=True)}
    removed_by, similarity = direct_duplicates(bands, shingles, config.threshold, len(first))
    return _resolved(by_age, first, removed_by, similarity, config.threshold)


def _scopes(table: SignatureTable, config: DedupConfig) -> Rows:
    """Return a code for each row; only rows with equal codes are compared."""
    if config.scope == "global":
        return np.zeros(len(table.sources), np.int64)
    if config.scope == "source":
        return table.sources
    num_snapshots = int(table.snapshots.max(initial=0)) + 1
    return table.sources * num_snapshots + table.snapshots


def _resolved(
    by_age: Rows, first: Rows, removed_by: Rows, similarity: NDArray[np.float64], threshold: float
) -> Duplicates:
    """Join exact and near duplicates: a copy of a removed document points to what removed that one."""
    partner = removed_by[first]
    copies = first != np.arange(len(first))
    exact = copies & (partner < 0)
    gone = np.flatnonzero(copies | (partner >= 0))
    partner = np.where(exact, first, partner)
    level = np.where(exact, 1.0, similarity[first])
    gone = gone[np.argsort(by_age[gone])]
    return Duplicates(by_age[gone], by_age[partner[gone]], level[gone], exact[gone], threshold)
