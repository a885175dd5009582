"""MinHash signatures on disk: one Parquet file per input, its rows in the order of the input's documents.

The file's header states everything that shaped the signatures; files that disagree are refused, not compared.
Memory: one batch of documents to write; all signatures (about 0.5 kB a document) to read.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tasks.core.errors import StaleOutputError
from tasks.core.signatures import Signature, SignatureTable
from tasks.io.documents import BATCH_DOCUMENTS, StageOutput
from tasks.io.schemas import signature_schema
from tasks.io.store import Store
from tasks.io.tables import read_table

Sign = Callable[[bytes, datetime | None, str], Signature]
_SETTINGS_KEY = b"glassworks.signature"
_NAME_DIGITS = 16


@dataclass(frozen=True, slots=True)
class SignatureOutput:
    """Where the signatures of one input's documents are; ``identity`` says what shaped them."""

    path: str
    identity: str
    source: str
    name: str


def signature_output(upstream: StageOutput, identity: str) -> SignatureOutput:
    """Name the signatures of one stage output."""
    names = f"{upstream.input_fingerprint[:_NAME_DIGITS]}-{identity[:_NAME_DIGITS]}"
    path = f"signatures/{upstream.source}/{names}.parquet"
    return SignatureOutput(path, identity, upstream.source, upstream.name)


def write_signatures(
    store: Store, documents_path: str, path: str, sign: Sign, num_permutations: int, settings: Mapping[str, Any]
) -> None:
    """Sign all documents of a file; nothing appears before all of them are."""
    metadata = {_SETTINGS_KEY: json.dumps(dict(settings), sort_keys=True).encode()}
    schema = signature_schema(num_permutations).with_metadata(metadata)
    columns = ["doc_id", "fetched_at", "text"]
    with (
        store.open(documents_path) as source,
        store.writing(path) as file,
        pq.ParquetWriter(file, schema, compression="none", use_dictionary=False) as writer,
    ):
        for batch in pq.ParquetFile(source).iter_batches(BATCH_DOCUMENTS, columns=columns):
            rows = batch.to_pylist()
            signatures = [sign(row["doc_id"], row["fetched_at"], row["text"]) for row in rows]
            writer.write_table(_table([row["doc_id"] for row in rows], signatures, schema))


def read_signatures(
    store: Store,
    documents: Sequence[StageOutput],
    signatures: Sequence[SignatureOutput],
    num_permutations: int,
    settings: Mapping[str, Any],
) -> tuple[list[bytes], SignatureTable]:
    """Return the ids and signatures of all documents, input after input.

    Raises:
        StaleOutputError: a file was made by other settings than the ones asked for.
    """
    tables = [_checked(store, item, settings) for item in signatures]
    schema = signature_schema(num_permutations)
    table = pa.concat_tables([schema.empty_table(), *tables]).combine_chunks()
    lengths = [len(item) for item in tables]
    sources = {name: code for code, name in enumerate(sorted({item.source for item in documents}))}
    values = table["signature"].combine_chunks().flatten().to_numpy()
    return table["doc_id"].to_pylist(), SignatureTable(
        order_keys=_numbers(table["order_key"], 3),
        exact_hashes=_numbers(table["exact_hash"], 2),
        num_shingles=table["num_shingles"].to_numpy().astype(np.int64),
        values=values.reshape(-1, num_permutations),
        sources=np.repeat(np.array([sources[item.source] for item in documents], np.int64), lengths),
        snapshots=_snapshot_codes(store, documents),
    )


def _checked(store: Store, output: SignatureOutput, settings: Mapping[str, Any]) -> pa.Table:
    table = read_table(store, output.path)
    made = json.loads(table.schema.metadata[_SETTINGS_KEY])
    wrong = [
        f"{name} {made.get(name)!r}, not {wanted!r}" for name, wanted in settings.items() if made.get(name) != wanted
    ]
    if wrong:
        raise StaleOutputError(
            f"signatures of {output.source}/{output.name}",
            f"made with {', '.join(wrong)}",
            "sign all inputs with the same dedup settings",
        )
    return table.replace_schema_metadata(None)


def _table(doc_ids: list[bytes], signatures: list[Signature], schema: pa.Schema) -> pa.Table:
    width = schema.field("signature").type.list_size
    values = np.concatenate([item.values for item in signatures])
    columns = [
        pa.array(doc_ids, schema.field("doc_id").type),
        pa.array([item.order_key for item in signatures], pa.binary()),
        pa.array([item.exact_hash for item in signatures], schema.field("exact_hash").type),
        pa.array([item.num_shingles for item in signatures], pa.int32()),
        pa.FixedSizeListArray.from_arrays(pa.array(values, pa.uint32()), width),
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _numbers(column: pa.ChunkedArray, width: int) -> NDArray[np.uint64]:
    """Return byte strings of 8 x width bytes as rows of numbers that sort like them."""
    joined = b"".join(column.to_pylist())
    return np.frombuffer(joined, ">u8").reshape(-1, width).astype(np.uint64)


def _snapshot_codes(store: Store, documents: Sequence[StageOutput]) -> NDArray[np.int64]:
    names: list[str] = []
    for item in documents:
        names.extend(read_table(store, item.kept_path, columns=["snapshot"])["snapshot"].to_pylist())
    codes = {name: code for code, name in enumerate(sorted(set(names)))}
    return np.fromiter(map(codes.__getitem__, names), np.int64, len(names))
