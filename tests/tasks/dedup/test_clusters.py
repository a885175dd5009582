"""LSH groups against datasketch, similarities and the walk against brute force."""

from itertools import combinations

import numpy as np
import pytest
from datasketch import MinHash, MinHashLSH
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.dedup.clusters import Band, Rows, band_of, candidates_in, direct_duplicates, first_of_equal, similarities
from tasks.dedup.signature import minhash

SETS = st.lists(st.sets(st.integers(0, 9), min_size=1), min_size=1, max_size=9)


def everything_together(num_rows: int) -> list[Band]:
    """One band that proposes all pairs."""
    return [band_of(np.zeros((num_rows, 1), np.uint32), np.zeros(num_rows, np.int64), np.arange(num_rows))]


def as_shingles(sets: list[set[int]]) -> dict[int, np.ndarray]:
    return {row: np.array(sorted(items), np.uint64) for row, items in enumerate(sets)}


def proposed(bands: list[Band], num_rows: int) -> set[tuple[int, int]]:
    pairs: set[tuple[int, int]] = set()
    for band in bands:
        pairs.update((row, other) for row in range(num_rows) for other in band.younger(row).tolist())
    return pairs


def walked_by_brute_force(sets: list[set[int]], threshold: float) -> list[int]:
    removed_by = [-1] * len(sets)
    for row, items in enumerate(sets):
        for other in range(row + 1, len(sets)):
            if removed_by[row] < 0 and removed_by[other] < 0:
                if len(items & sets[other]) / len(items | sets[other]) >= threshold:
                    removed_by[other] = row
    return removed_by


def family(seed: int, num_rows: int) -> np.ndarray:
    """Signatures of sets that overlap in all degrees."""
    random = np.random.default_rng(seed)
    base = random.integers(0, 1 << 64, 200, np.uint64)
    rows = []
    for _ in range(num_rows):
        kept = base[random.random(200) < random.uniform(0.5, 1)]
        rows.append(minhash(np.unique(np.concatenate((kept, random.integers(0, 1 << 64, 5, np.uint64)))), 112, 1))
    return np.array(rows)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_proposed_pairs_are_those_of_datasketch_with_14_bands_of_8_rows(seed: int) -> None:
    values = family(seed, 120)
    index = MinHashLSH(num_perm=112, params=(14, 8))
    sketches = [MinHash(num_perm=112, seed=1, scheme="affine32", hashvalues=row) for row in values]
    for row, sketch in enumerate(sketches):
        index.insert(row, sketch)
    expected = {
        (min(row, other), max(row, other)) for row, sketch in enumerate(sketches) for other in index.query(sketch)
    }
    rows, scopes = np.arange(len(values)), np.zeros(len(values), np.int64)
    bands = [band_of(values[:, start : start + 8], scopes, rows) for start in range(0, 112, 8)]
    pairs = proposed(bands, len(values))
    assert pairs == {pair for pair in expected if pair[0] != pair[1]}
    assert len(pairs) > 100
    assert set(candidates_in(bands).tolist()) == {row for pair in pairs for row in pair}


def test_c44_at_similarity_0_8_fourteen_bands_of_eight_find_as_many_pairs_as_the_formula_says() -> None:
    random = np.random.default_rng(5)
    found = 0
    for _ in range(1000):
        pool = random.integers(0, 1 << 64, 100, np.uint64)
        one, other = minhash(np.sort(pool[:90]), 112, 1), minhash(np.sort(pool[10:]), 112, 1)
        found += bool(np.any(np.all((one == other).reshape(14, 8), axis=1)))
    assert abs(found - 923.5) < 3 * 8.4


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=30))
def test_first_of_equal_is_the_first_index_of_each_value(rows: list[tuple[int, int]]) -> None:
    found = first_of_equal(np.array(rows, np.uint64).reshape(-1, 2))
    assert found.tolist() == [rows.index(row) for row in rows]


@given(st.sets(st.integers(0, 20), min_size=1), SETS)
def test_similarities_are_exact(one: set[int], others: list[set[int]]) -> None:
    found = similarities(np.array(sorted(one), np.uint64), list(as_shingles(others).values()))
    assert found.tolist() == [len(one & other) / len(one | other) for other in others]


@settings(max_examples=200)
@given(SETS, st.sampled_from([0.4, 0.5, 0.75, 1.0]))
def test_the_walk_equals_brute_force_over_all_pairs(sets: list[set[int]], threshold: float) -> None:
    removed_by, similarity = direct_duplicates(everything_together(len(sets)), as_shingles(sets), threshold, len(sets))
    assert removed_by.tolist() == walked_by_brute_force(sets, threshold)
    assert all(similarity[removed_by >= 0] >= threshold)


def test_in_a_chain_only_the_direct_neighbour_of_the_oldest_goes() -> None:
    chain = [set(range(10)), set(range(1, 11)), set(range(2, 12))]  # 9/11 = .82 next to each other, 8/12 = .67 ends
    removed_by, _ = direct_duplicates(everything_together(3), as_shingles(chain), 0.75, 3)
    assert removed_by.tolist() == [-1, 0, -1]


def test_rows_of_different_scopes_are_never_in_one_group() -> None:
    values, scopes = np.zeros((4, 8), np.uint32), np.array([0, 1, 0, 1])
    assert proposed([band_of(values, scopes, np.arange(4))], 4) == {(0, 2), (1, 3)}


def test_no_rows_make_no_groups() -> None:
    nothing: Rows = np.empty(0, np.int64)
    assert len(candidates_in([band_of(np.empty((3, 8), np.uint32), np.zeros(3, np.int64), nothing)])) == 0


def test_pairs_of_every_distance_are_all_of_a_group() -> None:
    assert proposed(everything_together(6), 6) == set(combinations(range(6), 2))
