"""Every Arrow schema of the store, in one place. They are explicit: a column full of nulls changes nothing."""

from collections.abc import Iterable

import pyarrow as pa

DOC_ID = pa.binary(16)
LOCATOR = pa.struct([("file", pa.string()), ("offset", pa.int64()), ("record_id", pa.string())])
TIMESTAMP = pa.timestamp("us", tz="UTC")

DROPPED = pa.schema(
    [
        ("doc_id", DOC_ID),
        ("source", pa.string()),
        ("url", pa.string()),
        ("locator", LOCATOR),
        ("stage", pa.string()),
        ("reason", pa.string()),
        ("value", pa.string()),
        ("limit", pa.string()),
        ("duplicate_of", DOC_ID),
        ("text_head", pa.string()),
        ("num_bytes", pa.int64()),
    ]
)


def document_schema(signals: Iterable[str] = ()) -> pa.Schema:
    """Return the schema of kept documents: one float column per quality signal, inside ``signals``.

    Before the quality stage there are no signals, and no such column (Parquet has no empty struct).
    """
    columns = [(name, pa.float32()) for name in sorted(signals)]
    return pa.schema(
        [
            ("doc_id", DOC_ID),
            ("source", pa.string()),
            ("snapshot", pa.string()),
            ("url", pa.string()),
            ("locator", LOCATOR),
            ("fetched_at", TIMESTAMP),
            ("title", pa.string()),
            ("license", pa.string()),
            ("language", pa.string()),
            ("language_score", pa.float32()),
            ("text", pa.large_string()),
            ("num_bytes", pa.int64()),
            ("num_words", pa.int64()),
            *([("signals", pa.struct(columns))] if columns else []),
        ]
    )


def signature_schema(num_permutations: int) -> pa.Schema:
    """Return the schema of MinHash signatures; ``order_key`` sorts older documents first."""
    return pa.schema(
        [
            ("doc_id", DOC_ID),
            ("order_key", pa.binary()),
            ("exact_hash", DOC_ID),
            ("num_shingles", pa.int32()),
            ("signature", pa.list_(pa.uint32(), num_permutations)),
        ]
    )


DUPLICATES = pa.schema(
    [
        ("doc_id", DOC_ID),
        ("duplicate_of", DOC_ID),
        ("similarity", pa.float32()),
        ("reason", pa.string()),
        ("source", pa.string()),
    ]
)


def token_type(vocab_size: int) -> pa.DataType:
    """Return uint16 while the vocabulary fits, else uint32."""
    return pa.uint16() if vocab_size <= 1 << 16 else pa.uint32()


def token_schema(vocab_size: int) -> pa.Schema:
    """Return the schema of tokenised documents (EOS included in ``input_ids``)."""
    return pa.schema(
        [
            ("doc_id", DOC_ID),
            ("num_bytes", pa.int64()),
            ("num_tokens", pa.int64()),
            ("input_ids", pa.large_list(token_type(vocab_size))),
        ]
    )


def row_schema(sequence_length: int, vocab_size: int) -> pa.Schema:
    """Return the schema of packed rows. Segment lists are parallel; lengths sum to ``num_tokens``."""
    return pa.schema(
        [
            ("input_ids", pa.list_(token_type(vocab_size), sequence_length)),
            ("segment_lengths", pa.list_(pa.int32())),
            ("segment_doc_ids", pa.list_(DOC_ID)),
            ("segment_offsets", pa.list_(pa.int64())),
            ("segment_sources", pa.list_(pa.string())),
            ("num_tokens", pa.int32()),
        ]
    )


INDEX = pa.schema(
    [
        ("doc_id", DOC_ID),
        ("source", pa.string()),
        ("url", pa.string()),
        ("locator", LOCATOR),
        ("title", pa.string()),
        ("license", pa.string()),
        ("language", pa.string()),
        ("split", pa.string()),
        ("repeats", pa.int32()),
        ("num_bytes", pa.int64()),
        ("num_tokens", pa.int64()),
        ("documents_file", pa.string()),
        ("tokens_file", pa.string()),
    ]
)
"""One line per document of a data version, sorted by doc_id: what it is, how often it is in, where it lies."""
