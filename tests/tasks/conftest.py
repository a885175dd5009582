"""What tests of training and evaluation share: a tiny data version, and runs of it."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from tasks.core.manifest import ROW_FORMAT, Manifest, ShardRecord, TokenizerRecord, ValidationRecord
from tasks.io.schemas import row_schema
from tasks.io.store import Store

VOCAB = 64
LENGTH = 32
EOS, PAD = 0, 1
SOURCES = ("web", "code")
_ONLY_SHARD = "shard-00000-of-00001.parquet"


def make_version(
    store: Store, *, num_rows: int = 48, rows_per_shard: int = 20, validation_rows: int = 6, seed: int = 0
) -> Manifest:
    """Write a complete data version of random documents: 64 token ids, rows of 32, a few segments each."""
    draw = np.random.default_rng(seed)
    folder = f"versions/tiny-{_fingerprint(seed, num_rows)[:12]}"
    starts = range(0, num_rows, rows_per_shard)
    train = [
        _shard(store, folder, f"train/shard-{index:05d}-of-{len(starts):05d}.parquet", draw, size, SOURCES)
        for index, size in enumerate(min(rows_per_shard, num_rows - start) for start in starts)
    ]
    validation = {
        source: [_shard(store, folder, f"validation/{source}/{_ONLY_SHARD}", draw, validation_rows, [source])]
        for source in SOURCES
    }
    tokenizer = _tokenizer()
    store.write_bytes(f"{folder}/tokenizer/tokenizer.json", tokenizer)
    manifest = Manifest(
        name="tiny",
        fingerprint=_fingerprint(seed, num_rows),
        parent="",
        created_at="2025-01-01T00:00:00+00:00",
        config={},
        code={},
        libraries={},
        inputs=[],
        funnel={},
        mix=[],
        validation=[_validation(source, validation[source][0]) for source in SOURCES],
        licenses={},
        languages={},
        tokenizer=TokenizerRecord(
            origin="test", vocab_size=VOCAB, eos_token_id=EOS, pad_token_id=PAD,
            sha256=hashlib.sha256(tokenizer).hexdigest(), bytes_per_token=1.0,
        ),
        decontamination={},
        row_format=ROW_FORMAT,
        sequence_length=LENGTH,
        train_shards=train,
        validation_shards=validation,
    )  # fmt: skip
    store.write_json(f"{folder}/manifest.json", manifest.model_dump(mode="json"))
    return manifest


def _fingerprint(seed: int, num_rows: int) -> str:
    return hashlib.sha256(f"{seed} {num_rows}".encode()).hexdigest()


def _row(draw: np.random.Generator, sources: Any) -> dict[str, Any]:
    lengths: list[int] = []
    ids: list[int] = []
    while (room := LENGTH - len(ids)) >= 6 and len(lengths) < 4:
        length = int(draw.integers(4, room + 1))
        start, stride = int(draw.integers(2, VOCAB)), int(draw.integers(1, 4))
        ids += [2 + (start + stride * place) % (VOCAB - 2) for place in range(length - 1)] + [EOS]
        lengths.append(length)
    return {
        "input_ids": ids + [PAD] * (LENGTH - len(ids)),
        "segment_lengths": lengths,
        "segment_doc_ids": [draw.bytes(16) for _ in lengths],
        "segment_offsets": [0] * len(lengths),
        "segment_sources": [str(draw.choice(sources)) for _ in lengths],
        "num_tokens": len(ids),
    }


def _shard(store: Store, folder: str, path: str, draw: np.random.Generator, size: int, sources: Any) -> ShardRecord:
    rows = [_row(draw, sources) for _ in range(size)]
    with store.writing(f"{folder}/{path}") as temporary:
        pq.write_table(pa.Table.from_pylist(rows, schema=row_schema(LENGTH, VOCAB)), temporary, row_group_size=8)
    return ShardRecord(
        path=path,
        num_rows=size,
        num_tokens=sum(row["num_tokens"] for row in rows),
        num_documents=sum(len(row["segment_lengths"]) for row in rows),
        sha256=store.sha256(f"{folder}/{path}"),
    )


def _validation(source: str, shard: ShardRecord) -> ValidationRecord:
    return ValidationRecord(
        source=source, num_documents=shard.num_documents, num_bytes=4 * shard.num_tokens, num_tokens=shard.num_tokens
    )


def _tokenizer() -> bytes:
    names = ["<|endoftext|>", "<|pad|>", *(chr(33 + place) for place in range(VOCAB - 2))]
    tokenizer = Tokenizer(models.WordLevel({name: place for place, name in enumerate(names)}, unk_token="!"))  # noqa: S106 - a token of text
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    return str(tokenizer.to_str()).encode()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """An empty local store."""
    return Store(str(tmp_path / "store"))


@pytest.fixture
def version_in() -> Callable[..., Manifest]:
    """A function that writes a tiny data version into a store."""
    return make_version
