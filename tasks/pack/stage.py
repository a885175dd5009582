"""Best-fit packing of documents into rows of ``sequence_length`` tokens, in training order.

Property: no token is lost, only documents longer than a row are cut, and the order depends on the seed and the
document ids alone. Method: a document and its repeat fall into a bucket by hash; each bucket is one shard, a
fair sample of the mix, packed by itself (best fit, longest first) and its rows ordered by hash.
Cost: O(n log n) in the documents of one bucket, which is all that has to be in memory.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import Field

from configs.base import Config
from tasks.core.seeds import fraction, hash64

VERSION = 1
_GROUP_TOKENS = 64_000_000
TokenIds = npt.NDArray[np.uint32] | npt.NDArray[np.uint16]


class PackConfig(Config):
    """The shape of rows and shards."""

    sequence_length: int = Field(2048, ge=8, le=1_048_576, description="Tokens per row.")
    rows_per_shard: int = Field(4096, ge=1, description="Rows aimed at per shard; sets the number of shards.")


@dataclass(frozen=True, slots=True)
class TokenDocument:
    """A tokenised document that goes into a bucket; ``repeat`` counts its epochs from 0."""

    doc_id: bytes
    source: str
    repeat: int
    input_ids: TokenIds


@dataclass(frozen=True, slots=True)
class Segment:
    """A whole document, or a piece of one longer than a row: tokens [offset, offset + len(input_ids))."""

    doc_id: bytes
    source: str
    repeat: int
    offset: int
    input_ids: TokenIds


Row = list[Segment]


def num_shards(total_tokens: int, config: PackConfig) -> int:
    """Return the number of buckets: rows aimed at per shard, at least one."""
    return max(1, -(-total_tokens // (config.sequence_length * config.rows_per_shard)))


def shards_per_group(config: PackConfig) -> int:
    """Return how many shards are packed together, so that their token ids stay within memory."""
    return max(1, _GROUP_TOKENS // (config.sequence_length * config.rows_per_shard))


def bucket_of(seed: int, doc_id: bytes, repeat: int, buckets: int) -> int:
    """Return the bucket (shard number) of a document's repeat."""
    return int(fraction(seed, "bucket", doc_id, repeat) * buckets)


def pack_rows(documents: Iterable[TokenDocument], sequence_length: int, seed: int) -> list[Row]:
    """Pack one bucket by best fit, longest piece first, and put its rows in training order.

    REFERENCE C 2.8: lengths 14, 7, 5, 2, 3 with length 8 give four rows; only the 14 is cut.
    """
    pieces = [piece for document in documents for piece in cut(document, sequence_length)]
    pieces.sort(key=lambda piece: (-len(piece.input_ids), _piece_key(piece)))
    rows: list[Row] = []
    spaces: list[int] = []  # the distinct free lengths, sorted
    by_space: dict[int, list[int]] = {}  # free length -> rows with it, first opened last
    for piece in pieces:
        need = len(piece.input_ids)
        index = bisect_left(spaces, need)
        if index == len(spaces):
            row, space = len(rows), sequence_length
            rows.append([])
        else:
            space = spaces[index]
            row = by_space[space].pop()
            if not by_space[space]:
                del by_space[space], spaces[index]
        rows[row].append(piece)
        _free(spaces, by_space, space - need, row)
    return sorted(rows, key=lambda row: _row_key(seed, row))


def pack_columns(
    documents: Iterable[tuple[bytes, str, int, TokenIds]], *, sequence_length: int, seed: int, pad: int
) -> dict[str, list[Any]]:
    """Pack (doc_id, source, repeat, input_ids) tuples of one bucket and return the shard's columns."""
    rows = pack_rows((TokenDocument(*document) for document in documents), sequence_length, seed)
    return {
        "input_ids": [padded(row, sequence_length, pad) for row in rows],
        "segment_lengths": [[len(segment.input_ids) for segment in row] for row in rows],
        "segment_doc_ids": [[segment.doc_id for segment in row] for row in rows],
        "segment_offsets": [[segment.offset for segment in row] for row in rows],
        "segment_sources": [[segment.source for segment in row] for row in rows],
        "num_tokens": [sum(len(segment.input_ids) for segment in row) for row in rows],
    }


def cut(document: TokenDocument, sequence_length: int) -> list[Segment]:
    """Cut a document into pieces of at most a row; a shorter one stays whole."""
    ids = document.input_ids
    return [
        Segment(document.doc_id, document.source, document.repeat, offset, ids[offset : offset + sequence_length])
        for offset in range(0, len(ids), sequence_length)
    ]


def padded(row: Sequence[Segment], sequence_length: int, pad: int) -> TokenIds:
    """Return a row's token ids, filled up with ``pad``."""
    ids = np.concatenate([segment.input_ids for segment in row])
    filled = np.full(sequence_length, pad, dtype=ids.dtype)
    filled[: len(ids)] = ids
    return filled


def _free(spaces: list[int], by_space: dict[int, list[int]], space: int, row: int) -> None:
    if not space:
        return
    if space not in by_space:
        by_space[space] = []
        insort(spaces, space)
    by_space[space].append(row)


def _piece_key(piece: Segment) -> tuple[bytes, int, int]:
    return (piece.doc_id, piece.repeat, piece.offset)


def _row_key(seed: int, row: Row) -> tuple[int, tuple[bytes, int, int]]:
    first = row[0]
    return (hash64(seed, "row", *_piece_key(first)), _piece_key(first))
