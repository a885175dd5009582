"""Packing: nothing is lost, nothing that fits is cut, the order depends on seed and ids alone."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tasks.pack.stage import PackConfig, TokenDocument, bucket_of, num_shards, pack_columns, pack_rows, padded


def documents(lengths: list[int]) -> list[TokenDocument]:
    made, start = [], 1
    for index, length in enumerate(lengths):
        ids = np.arange(start, start + length, dtype=np.uint32)
        made.append(TokenDocument(index.to_bytes(16, "big"), "web", 0, ids))
        start += length
    return made


def test_reference_packing_example_needs_four_rows_and_cuts_only_the_long_document() -> None:
    rows = pack_rows(documents([14, 7, 5, 2, 3]), sequence_length=8, seed=1)
    assert sorted(sorted((len(piece.input_ids) for piece in row), reverse=True) for row in rows) == [
        [5, 3],
        [6, 2],
        [7],
        [8],
    ]
    cut_documents = {piece.doc_id for row in rows for piece in row if piece.offset}
    assert cut_documents == {(0).to_bytes(16, "big")}


LENGTHS = st.lists(st.integers(1, 70), min_size=1, max_size=80)


@given(LENGTHS, st.integers(8, 32))
def test_no_token_is_lost_and_only_long_documents_are_cut(lengths: list[int], sequence_length: int) -> None:
    rows = pack_rows(documents(lengths), sequence_length, seed=3)
    ids = np.concatenate([piece.input_ids for row in rows for piece in row])
    assert sorted(ids.tolist()) == list(range(1, sum(lengths) + 1))
    assert all(sum(len(piece.input_ids) for piece in row) <= sequence_length for row in rows)
    for number, length in enumerate(lengths):
        pieces = [piece for row in rows for piece in row if piece.doc_id == number.to_bytes(16, "big")]
        assert len(pieces) == -(-length // sequence_length)


@given(LENGTHS, st.integers(8, 32))
def test_no_two_rows_could_be_one(lengths: list[int], sequence_length: int) -> None:
    """Best fit opens a row only when a piece fits nowhere, so at most one row is half empty or less."""
    rows = pack_rows(documents(lengths), sequence_length, seed=3)
    fills = sorted(sum(len(piece.input_ids) for piece in row) for row in rows)
    assert len(fills) < 2 or fills[0] + fills[1] > sequence_length


@given(LENGTHS, st.randoms(use_true_random=False))
def test_rows_do_not_depend_on_the_order_of_documents(lengths: list[int], random: object) -> None:
    given_order = documents(lengths)
    shuffled = list(given_order)
    random.shuffle(shuffled)  # type: ignore[attr-defined]

    def places(order: list[TokenDocument]) -> list[list[tuple[bytes, int]]]:
        return [[(piece.doc_id, piece.offset) for piece in row] for row in pack_rows(order, 16, seed=5)]

    assert places(given_order) == places(shuffled)


def test_another_seed_gives_another_order_of_the_same_rows() -> None:
    many = documents([9] * 50)
    first = [row[0].doc_id for row in pack_rows(many, 16, seed=1)]
    second = [row[0].doc_id for row in pack_rows(many, 16, seed=2)]
    assert first != second
    assert sorted(first) == sorted(second)


def test_columns_agree_with_each_other_and_padding_is_at_the_end() -> None:
    items = [(item.doc_id, item.source, item.repeat, item.input_ids) for item in documents([14, 7, 5, 2, 3])]
    columns = pack_columns(items, sequence_length=8, seed=1, pad=0)
    for ids, lengths, total in zip(
        columns["input_ids"], columns["segment_lengths"], columns["num_tokens"], strict=True
    ):
        assert len(ids) == 8
        assert sum(lengths) == total == np.count_nonzero(ids)
        assert not ids[total:].any()
    assert sum(columns["num_tokens"]) == 31


def test_padding_keeps_the_type_of_the_ids() -> None:
    (row,) = pack_rows([TokenDocument(b"x" * 16, "web", 0, np.array([5, 6], dtype=np.uint16))], 8, 1)
    assert padded(row, 8, 1).tolist() == [5, 6, 1, 1, 1, 1, 1, 1]
    assert padded(row, 8, 1).dtype == np.uint16


def test_shards_are_as_many_as_the_rows_asked_for_need() -> None:
    config = PackConfig(sequence_length=100, rows_per_shard=10)
    assert [num_shards(tokens, config) for tokens in (0, 1, 1000, 1001, 10_000)] == [1, 1, 1, 2, 10]


def test_buckets_are_fair_and_repeats_of_a_document_fall_apart() -> None:
    counts = np.bincount([bucket_of(42, index.to_bytes(16, "big"), 0, 8) for index in range(8000)], minlength=8)
    assert abs(counts - 1000).max() < 5 * (8000 / 8 * 7 / 8) ** 0.5
    first = {bucket_of(42, b"a" * 16, repeat, 1000) for repeat in range(10)}
    assert len(first) > 5
