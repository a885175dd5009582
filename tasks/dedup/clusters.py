"""Which documents go: LSH proposes, true similarity decides, and only direct neighbours of a kept document go.

Rows are in order of age. Property: walking from the oldest, a kept document removes its younger candidates whose true
Jaccard similarity reaches the threshold; a removed document removes nobody, so a chain A~B~C loses B alone. The
result depends on ages and texts, never on the order of the input. Method: per band, sort 64-bit band keys; equal keys
make a group. Bands are made one at a time. Cost: a sort per band, and one comparison for each kept document and
younger member of its groups.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks.core.signatures import Shingles
from tasks.dedup.signature import mixed

Rows = NDArray[np.int64]
_COMPARED_AT_ONCE = 256


@dataclass(frozen=True, slots=True)
class Band:
    """The groups of one band that have two members or more.

    ``members`` holds group after group, ascending inside; a row that is a member stands at ``places[row]``, and its
    group ends before ``ends[row]``; for other rows both are 0.
    """

    members: Rows
    places: Rows
    ends: Rows

    def younger(self, row: int) -> Rows:
        """Return the members behind ``row`` in its group."""
        return self.members[self.places[row] + 1 : self.ends[row]]


def first_of_equal(keys: NDArray[np.uint64]) -> Rows:
    """Return for each row the first row with the same numbers."""
    order = np.lexsort(keys.T[::-1])
    starts = _starts(np.any(keys[order][1:] != keys[order][:-1], axis=1), len(keys))
    first = np.empty(len(keys), np.int64)
    first[order] = order[starts].repeat(_lengths(starts, len(keys)))
    return first


def band_of(values: NDArray[np.uint32], scopes: Rows, rows: Rows) -> Band:
    """Group ``rows`` that agree in all columns of one band and in their scope."""
    keys = mixed(scopes[rows].astype(np.uint64))
    for column in values[rows].T:
        keys = mixed(keys ^ column)
    order = np.argsort(keys, kind="stable")
    starts = _starts(keys[order][1:] != keys[order][:-1], len(rows))
    lengths = _lengths(starts, len(rows))
    grouped = np.repeat(lengths > 1, lengths)
    members = rows[order][grouped]
    places, ends = np.zeros(len(scopes), np.int64), np.zeros(len(scopes), np.int64)
    places[members] = np.arange(len(members))
    sizes = lengths[lengths > 1]
    ends[members] = np.repeat(np.cumsum(sizes), sizes)
    return Band(members, places, ends)


def candidates_in(bands: Sequence[Band]) -> Rows:
    """Return all rows that some band proposes to compare, ascending."""
    return np.unique(np.concatenate([band.members for band in bands])) if bands else np.empty(0, np.int64)


def direct_duplicates(
    bands: Sequence[Band], shingles: Mapping[int, Shingles], threshold: float, num_rows: int
) -> tuple[Rows, NDArray[np.float64]]:
    """Return for each row the kept row that removes it (or -1), and their similarity."""
    removed_by = np.full(num_rows, -1, np.int64)
    similarity = np.zeros(num_rows, np.float64)
    for row in candidates_in(bands).tolist():
        if removed_by[row] >= 0:
            continue
        younger = np.unique(np.concatenate([band.younger(row) for band in bands]))
        younger = younger[removed_by[younger] < 0]
        for start in range(0, len(younger), _COMPARED_AT_ONCE):
            block = younger[start : start + _COMPARED_AT_ONCE]
            found = similarities(shingles[row], [shingles[other] for other in block.tolist()])
            same = found >= threshold
            removed_by[block[same]] = row
            similarity[block[same]] = found[same]
    return removed_by, similarity


def similarities(one: Shingles, others: Sequence[Shingles]) -> NDArray[np.float64]:
    """Return the Jaccard similarity of one set of shingles with each of the others; none may be empty."""
    sizes = np.array([len(other) for other in others])
    every = np.concatenate(others)
    places = np.minimum(np.searchsorted(one, every), len(one) - 1)
    shared = np.add.reduceat((one[places] == every).astype(np.int64), np.cumsum(sizes) - sizes)
    return np.asarray(shared / (len(one) + sizes - shared), np.float64)


def _starts(changes: NDArray[np.bool_], total: int) -> Rows:
    return np.flatnonzero(np.concatenate(([True], changes))[:total])


def _lengths(starts: Rows, total: int) -> Rows:
    return np.diff(starts, append=total)
