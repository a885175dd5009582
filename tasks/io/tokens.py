"""Tokenizers and token ids on disk: ``tokenizers/<identity>.json`` and one Parquet of ids per input.

Like documents, a file's existence means that it is complete, and its name holds the identity of what shaped it.
Memory: the training sample for a tokenizer; one batch of documents for token ids.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tasks.core.errors import InputError
from tasks.io.documents import StageOutput, batched, read_documents
from tasks.io.duplicates import removed_ids
from tasks.io.schemas import token_schema
from tasks.io.store import Store
from tasks.io.tables import read_table

_NAME_DIGITS = 16


@dataclass(frozen=True, slots=True)
class TokenizerFile:
    """A tokenizer in the store: path of its tokenizer.json, SHA-256, where it comes from, sizes and special ids."""

    path: str
    sha256: str
    origin: str
    vocab_size: int
    eos: int
    pad: int


@dataclass(frozen=True, slots=True)
class TokensOutput:
    """The token ids of one input's documents, and the documents file they belong to."""

    source: str
    name: str
    path: str
    documents_path: str
    num_documents: int
    num_tokens: int
    reused: bool


def train_tokenizer_file(
    store: Store,
    path: str,
    outputs: Sequence[StageOutput],
    duplicates_path: str,
    budgets: Mapping[str, int],
    order: Callable[[str, bytes], int],
    train: Callable[[Iterator[str]], str],
) -> None:
    """Train on up to ``budgets[source]`` bytes per source, in the order of ``order(source, doc_id)``, and write."""
    store.write_bytes(path, train(sample_texts(store, outputs, duplicates_path, budgets, order)).encode())


def sample_texts(
    store: Store,
    outputs: Sequence[StageOutput],
    duplicates_path: str,
    budgets: Mapping[str, int],
    order: Callable[[str, bytes], int],
) -> Iterator[str]:
    """Yield the sampled texts, source by source in name order: independent of how the inputs are cut."""
    removed = removed_ids(store, duplicates_path)
    for source in sorted(budgets):
        mine = [output for output in outputs if output.source == source]
        wanted = _within_budget(store, mine, removed, budgets[source], partial(order, source))
        texts: dict[bytes, str] = {}
        for output in mine:
            texts.update(
                {item.doc_id: item.text for item in read_documents(store, output.kept_path) if item.doc_id in wanted}
            )
        yield from (texts[doc_id] for doc_id in wanted)


def named_tokenizer(path: str) -> str:
    """Return the tokenizer.json text of a local file or folder, or of a hub id.

    Raises:
        InputError: nothing is there, or the hub cannot be reached.
    """
    local = Path(path)
    for candidate in (local, local / "tokenizer.json"):
        if candidate.is_file():
            return candidate.read_text(encoding="utf-8")
    if local.exists():
        raise InputError(
            f"tokenizer {path}", "the folder has no tokenizer.json", "save it with `save_pretrained` first"
        )
    from transformers import AutoTokenizer  # heavy, and needed only here

    try:
        return str(AutoTokenizer.from_pretrained(path).backend_tokenizer.to_str())
    except (OSError, ValueError) as error:
        raise InputError(
            f"tokenizer {path}", f"neither a local path nor a hub id that can be loaded ({str(error).splitlines()[0]})",
            "check the name, or set HF_ENDPOINT to a mirror that you can reach",
        ) from error  # fmt: skip


def write_tokens(
    store: Store,
    upstream: StageOutput,
    identity: str,
    encode: Callable[[Sequence[str]], list[list[int]]],
    vocab_size: int,
    batch_documents: int,
) -> TokensOutput:
    """Encode all documents of one input, unless that was done already."""
    path = f"tokens/{upstream.source}/{upstream.input_fingerprint[:_NAME_DIGITS]}-{identity[:_NAME_DIGITS]}.parquet"
    if store.exists(path):
        return _output(store, path, upstream, reused=True)
    schema = token_schema(vocab_size)
    with store.writing(path) as temporary, pq.ParquetWriter(temporary, schema, compression="zstd") as writer:
        for batch in batched(read_documents(store, upstream.kept_path), batch_documents):
            ids = encode([document.text for document in batch])
            columns = {
                "doc_id": [document.doc_id for document in batch],
                "num_bytes": [document.num_bytes for document in batch],
                "num_tokens": [len(item) for item in ids],
                "input_ids": ids,
            }
            writer.write_table(pa.table(columns, schema=schema))
    return _output(store, path, upstream, reused=False)


def read_token_sizes(store: Store, path: str) -> pa.Table:
    """Return doc_id, num_bytes and num_tokens of a tokens file."""
    return read_table(store, path, columns=["doc_id", "num_bytes", "num_tokens"])


def read_token_ids(store: Store, path: str) -> Iterator[tuple[bytes, "np.ndarray"]]:
    """Yield (doc_id, token ids) of a tokens file, in file order."""
    with store.open(path) as file:
        for batch in pq.ParquetFile(file).iter_batches(1000, columns=["doc_id", "input_ids"]):
            lists = batch.column("input_ids")
            values = lists.values.to_numpy(zero_copy_only=False)
            offsets = lists.offsets.to_numpy()
            for index, doc_id in enumerate(batch.column("doc_id").to_pylist()):
                yield doc_id, values[offsets[index] : offsets[index + 1]]


def _within_budget(
    store: Store, outputs: Sequence[StageOutput], removed: set[bytes], budget: int, order: Callable[[bytes], int]
) -> list[bytes]:
    sizes: dict[bytes, int] = {}
    for output in outputs:
        table = read_table(store, output.kept_path, columns=["doc_id", "num_bytes"])
        sizes.update(zip(table["doc_id"].to_pylist(), table["num_bytes"].to_pylist(), strict=True))
    chosen: list[bytes] = []
    used = 0
    for doc_id in sorted(sizes.keys() - removed, key=lambda item: (order(item), item)):
        if used >= budget:
            break
        used += sizes[doc_id]
        chosen.append(doc_id)
    return chosen


def _output(store: Store, path: str, upstream: StageOutput, *, reused: bool) -> TokensOutput:
    sizes = read_token_sizes(store, path)
    total = pc.sum(sizes["num_tokens"]).as_py() or 0
    return TokensOutput(upstream.source, upstream.name, path, upstream.kept_path, sizes.num_rows, total, reused)
