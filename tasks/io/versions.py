"""Data versions on disk: shards of packed rows, written whole; the manifest last.

``versions/<name>-<fp12>/{train,validation/<source>}/shard-00000-of-00004.parquet``, ``tokenizer/``,
``index.parquet``, ``manifest.json``. Memory while packing: the token ids of one group of shards.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tasks.core.errors import InputError
from tasks.core.manifest import Manifest, ShardRecord
from tasks.io.schemas import row_schema
from tasks.io.store import Store
from tasks.io.tables import read_table
from tasks.io.tokens import read_token_ids

_DOCUMENTS_KEY = "glassworks.num_documents"
PackFunction = Callable[[Iterable[tuple[bytes, str, int, Any]]], dict[str, list[Any]]]


@dataclass(frozen=True, slots=True)
class ShardGroup:
    """Shards that are packed together: a split, its folder, all buckets there are, and those of this group."""

    split: str
    source: str
    folder: str
    num_shards: int
    shards: tuple[int, ...]

    @property
    def label(self) -> str:
        """What a person reads: ``train, shards 0 to 5 of 6``."""
        part = f"{self.split}/{self.source}" if self.source else self.split
        return f"{part}, shards {self.shards[0]} to {self.shards[-1]} of {self.num_shards}"

    def path(self, shard: int) -> str:
        """Return the path of one shard in the store."""
        return f"{self.folder}/shard-{shard:05d}-of-{self.num_shards:05d}.parquet"


def write_shards(
    store: Store,
    index_path: str,
    group: ShardGroup,
    bucket_of: Callable[[bytes, int], int],
    pack: PackFunction,
    sequence_length: int,
    vocab_size: int,
) -> list[ShardRecord]:
    """Gather the documents of a group's shards, pack and write each; shards that are there are kept."""
    missing = [shard for shard in group.shards if not store.exists(group.path(shard))]
    documents = _gather(store, _wanted(store, index_path, group, bucket_of, set(missing)))
    schema = row_schema(sequence_length, vocab_size)
    for shard in missing:
        members = documents.pop(shard, [])
        table = pa.table(_typed(pack(members), schema), schema=schema)
        with store.writing(group.path(shard)) as temporary:
            metadata = {**(schema.metadata or {}), _DOCUMENTS_KEY: str(len(members))}
            pq.write_table(table.replace_schema_metadata(metadata), temporary, compression="zstd", row_group_size=1024)
    return [_shard_record(store, group.path(shard)) for shard in group.shards]


def read_manifest(store: Store, version: str) -> Manifest:
    """Return the manifest of a data version.

    Raises:
        InputError: there is no complete version of this name; those that exist are listed.
    """
    path = f"versions/{version}/manifest.json"
    if not store.exists(path):
        raise InputError(
            f"data version {version}",
            "not in the store, or not complete",
            f"use one of: {', '.join(list_versions(store)) or 'none yet'}",
        )
    return Manifest.model_validate_json(store.read_bytes(path))


def list_versions(store: Store) -> list[str]:
    """Return the names of all complete data versions."""
    return sorted(path.split("/")[1] for path in store.list("versions", "manifest.json") if path.count("/") == 2)


def commit_version(store: Store, manifest: Manifest, index_path: str, tokenizer_files: Mapping[str, str]) -> None:
    """Put index and tokenizer beside the shards, and the manifest last."""
    folder = f"versions/{manifest.version}"
    store.write_bytes(f"{folder}/index.parquet", store.read_bytes(index_path))
    for name, content in sorted(tokenizer_files.items()):
        store.write_bytes(f"{folder}/tokenizer/{name}", content.encode())
    store.write_json(f"{folder}/manifest.json", manifest.model_dump(mode="json"))


def _wanted(
    store: Store, index_path: str, group: ShardGroup, bucket_of: Callable[[bytes, int], int], shards: set[int]
) -> dict[str, dict[bytes, tuple[str, list[tuple[int, int]]]]]:
    """Return tokens file -> doc_id -> (source, [(shard, repeat)]) of all documents that go into ``shards``."""
    table = read_table(store, index_path, columns=["doc_id", "source", "split", "repeats", "tokens_file"])
    table = table.filter(pc.equal(table["split"], group.split))
    if group.source:
        table = table.filter(pc.equal(table["source"], group.source))
    wanted: dict[str, dict[bytes, tuple[str, list[tuple[int, int]]]]] = defaultdict(dict)
    for row in table.to_pylist():
        buckets = [(bucket_of(row["doc_id"], repeat), repeat) for repeat in range(row["repeats"])]
        places = [place for place in buckets if place[0] in shards]
        if places:
            wanted[row["tokens_file"]][row["doc_id"]] = (row["source"], places)
    return wanted


def _gather(
    store: Store, wanted: Mapping[str, Mapping[bytes, tuple[str, list[tuple[int, int]]]]]
) -> dict[int, list[tuple[bytes, str, int, Any]]]:
    documents: dict[int, list[tuple[bytes, str, int, Any]]] = defaultdict(list)
    for path in sorted(wanted):
        for doc_id, ids in read_token_ids(store, path):
            source, places = wanted[path].get(doc_id, ("", []))
            for shard, repeat in places:
                documents[shard].append((doc_id, source, repeat, ids))
    return documents


def _typed(columns: dict[str, list[Any]], schema: pa.Schema) -> dict[str, pa.Array]:
    rows = columns.pop("input_ids")
    kind = schema.field("input_ids").type
    flat = np.concatenate(rows) if rows else np.zeros(0, dtype=kind.value_type.to_pandas_dtype())
    ids = pa.FixedSizeListArray.from_arrays(pa.array(flat, type=kind.value_type), kind.list_size)
    return {"input_ids": ids, **{name: pa.array(values, schema.field(name).type) for name, values in columns.items()}}


def _shard_record(store: Store, path: str) -> ShardRecord:
    with store.open(path) as file:
        parquet = pq.ParquetFile(file)
        metadata = parquet.schema_arrow.metadata
        tokens = pc.sum(parquet.read(columns=["num_tokens"])["num_tokens"]).as_py() or 0
        num_rows = parquet.metadata.num_rows
    return ShardRecord(
        path=path.split("/", 2)[2],
        num_rows=num_rows,
        num_tokens=tokens,
        num_documents=int(metadata[_DOCUMENTS_KEY.encode()]),
        sha256=store.sha256(path),
    )


def shard_groups(split: str, source: str, folder: str, num_shards: int, shards_per_group: int) -> list[ShardGroup]:
    """Cut the shards of a split into groups that are packed together."""
    numbers = range(num_shards)
    return [
        ShardGroup(split, source, folder, num_shards, tuple(numbers[start : start + shards_per_group]))
        for start in range(0, num_shards, shards_per_group)
    ]
