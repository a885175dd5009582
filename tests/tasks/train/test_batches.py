"""The order of training rows: complete, disjoint, and dependent on nothing but seed, size and rows."""

import hashlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.train.batches import batch_order_hash, global_batch, permuted, rank_rows


@given(num_rows=st.integers(1, 700), seed=st.integers(0, 1 << 32), epoch=st.integers(1, 5))
@settings(max_examples=60, deadline=None)
def test_every_later_epoch_is_a_permutation(num_rows: int, seed: int, epoch: int) -> None:
    order = permuted(np.arange(num_rows), num_rows, seed, epoch)
    assert sorted(order.tolist()) == list(range(num_rows))


def test_the_first_epoch_is_the_file_order_and_later_ones_differ_from_it_and_each_other() -> None:
    epochs = [np.concatenate([global_batch(epoch * 25 + step, 4, 100, 42) for step in range(25)]) for epoch in range(3)]
    assert epochs[0].tolist() == list(range(100))
    assert len({tuple(epoch.tolist()) for epoch in epochs}) == 3


def test_a_permutation_mixes_near_and_far() -> None:
    order = permuted(np.arange(10_000), 10_000, 1, 1)
    assert abs(float(np.corrcoef(np.arange(10_000), order)[0, 1])) < 0.04
    assert float(np.mean(np.abs(np.diff(order)))) == pytest.approx(10_000 / 3, rel=0.05)


def test_a_batch_may_cross_epochs() -> None:
    batch = global_batch(2, 4, 10, 0)  # positions 8..11: the last two of epoch 0, the first two of epoch 1
    assert batch[:2].tolist() == [8, 9]
    assert batch[2:].tolist() == permuted(np.arange(2), 10, 0, 1).tolist()


@pytest.mark.parametrize("world_size", [1, 2, 4, 8])
def test_r_4_3_3_ranks_see_disjoint_slices_whose_union_is_the_global_batch(world_size: int) -> None:
    batch = global_batch(7, 16, 100, 3)
    slices = [rank_rows(batch, rank, world_size) for rank in range(world_size)]
    assert np.concatenate(slices).tolist() == batch.tolist()


def test_b68_one_epoch_reaches_every_row_exactly_once_with_a_stop_in_between() -> None:
    seen = [rank_rows(global_batch(step, 8, 1000, 0), rank, 8) for step in range(60) for rank in range(8)]
    seen += [rank_rows(global_batch(step, 8, 1000, 0), rank, 2) for step in range(60, 125) for rank in range(2)]
    assert sorted(np.concatenate(seen).tolist()) == list(range(1000))


def test_the_order_hash_is_over_the_rows_of_the_steps_so_a_longer_run_begins_alike() -> None:
    rows = np.concatenate([global_batch(step, 6, 50, 9) for step in range(40)])
    assert batch_order_hash(40, 6, 50, 9) == hashlib.sha256(rows.astype("<u8").tobytes()).hexdigest()
    assert batch_order_hash(39, 6, 50, 9) != batch_order_hash(40, 6, 50, 9)
    assert batch_order_hash(40, 6, 50, 8) != batch_order_hash(40, 6, 50, 9)
