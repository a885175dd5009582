"""The mix plan on disk: which documents of which files go into a version, how often, and what stays out.

``plans/<identity>.parquet`` is the index of the version (schemas.INDEX, sorted by doc_id); the JSON beside it,
written last, sums it up. Memory: the metadata of all documents, without their texts.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel, ConfigDict

from tasks.core.counts import Counts
from tasks.core.manifest import MixRecord, ValidationRecord
from tasks.io.schemas import DROPPED, INDEX
from tasks.io.store import Store
from tasks.io.tables import read_table
from tasks.io.tokens import TokensOutput, read_token_sizes

_METADATA = ["doc_id", "url", "locator", "title", "license", "language"]
_STAGE = "mix"


class Plan(BaseModel):
    """A mix plan: the index it wrote, what each source gives, what is held out, and the counts of the stage."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    index_path: str
    mix: list[MixRecord]
    validation: list[ValidationRecord]
    counts: dict[str, Counts]
    licenses: dict[str, int]
    languages: dict[str, int]


@dataclass(frozen=True, slots=True)
class Size:
    """A document that may be taken: its id, UTF-8 bytes and tokens."""

    doc_id: bytes
    num_bytes: int
    num_tokens: int


@dataclass(frozen=True, slots=True)
class Choice:
    """What becomes of one source's documents: repeats in training, and those held out; the rest stays out."""

    train: Mapping[bytes, int]
    validation: frozenset[bytes]

    def place(self, doc_id: bytes) -> tuple[str, int]:
        """Return (split, repeats) of a document; ("", 0) when it is left out."""
        if doc_id in self.validation:
            return "validation", 1
        repeats = self.train.get(doc_id, 0)
        return ("train", repeats) if repeats else ("", 0)


def document_sizes(store: Store, outputs: Sequence[TokensOutput], removed: set[bytes]) -> dict[str, list[Size]]:
    """Return the sizes of all documents that dedup left, per source."""
    sizes: dict[str, list[Size]] = {output.source: [] for output in outputs}
    for output in outputs:
        table = read_token_sizes(store, output.path)
        rows = zip(
            table["doc_id"].to_pylist(), table["num_bytes"].to_pylist(), table["num_tokens"].to_pylist(), strict=True
        )
        sizes[output.source].extend(Size(*row) for row in rows if row[0] not in removed)
    return sizes


def find_plan(store: Store, identity: str) -> Plan | None:
    """Return a finished plan, or None."""
    path = f"plans/{identity[:16]}.json"
    return Plan.model_validate_json(store.read_bytes(path)) if store.exists(path) else None


def write_plan(
    store: Store,
    identity: str,
    outputs: Sequence[TokensOutput],
    sizes: Mapping[str, Sequence[Size]],
    choices: Mapping[str, Choice],
    mix: Sequence[MixRecord],
) -> Plan:
    """Write the index, the documents left out per source, and last the summary."""
    index: list[dict[str, object]] = []
    counts: dict[str, Counts] = {}
    validation: list[ValidationRecord] = []
    for source in sorted(choices):
        by_id = {size.doc_id: size for size in sizes[source]}
        rows = [
            _index_row(row, by_id[row["doc_id"]], output, choices[source])
            for output in outputs
            if output.source == source
            for row in _metadata(store, output.documents_path)
            if row["doc_id"] in by_id
        ]
        taken = [row for row in rows if row["split"]]
        left_out = [row for row in rows if not row["split"]]
        _write_left_out(store, identity, source, left_out)
        counts[source] = _counts(taken, left_out)
        validation.append(_validation_record(source, taken))
        index.extend(taken)
    index_path = f"plans/{identity[:16]}.parquet"
    index.sort(key=lambda row: row["doc_id"])  # type: ignore[arg-type, return-value]
    with store.writing(index_path) as temporary:
        pq.write_table(pa.Table.from_pylist(index, schema=INDEX), temporary, compression="zstd", row_group_size=10_000)
    plan = Plan(
        index_path=index_path,
        mix=list(mix),
        validation=validation,
        counts=counts,
        licenses=dict(sorted(Counter(str(row["license"]) for row in index).items())),
        languages=dict(sorted(Counter(str(row["language"]) for row in index).items())),
    )
    store.write_json(f"plans/{identity[:16]}.json", plan.model_dump(mode="json"))
    return plan


def _metadata(store: Store, path: str) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = read_table(store, path, columns=_METADATA).to_pylist()
    return rows


def _index_row(row: dict[str, object], size: Size, output: TokensOutput, choice: Choice) -> dict[str, object]:
    split, repeats = choice.place(size.doc_id)
    return {
        **row,
        "source": output.source,
        "split": split,
        "repeats": repeats,
        "num_bytes": size.num_bytes,
        "num_tokens": size.num_tokens,
        "documents_file": output.documents_path,
        "tokens_file": output.path,
    }


def _write_left_out(store: Store, identity: str, source: str, rows: Sequence[dict[str, object]]) -> None:
    records = [
        {
            **{name: row[name] for name in ("doc_id", "source", "url", "locator", "num_bytes")},
            "stage": _STAGE,
            "reason": "beyond_mix_budget",
            "value": f"{row['num_tokens']} tokens",
        }
        for row in rows
    ]
    with store.writing(f"dropped/{_STAGE}/{source}/{identity[:16]}.parquet") as temporary:
        pq.write_table(pa.Table.from_pylist(records, schema=DROPPED), temporary, compression="zstd")


def _counts(taken: Sequence[dict[str, object]], left_out: Sequence[dict[str, object]]) -> Counts:
    return Counts(
        seen=len(taken) + len(left_out),
        kept=len(taken),
        dropped={"beyond_mix_budget": len(left_out)} if left_out else {},
        bytes_kept=_total(taken, "num_bytes"),
        bytes_dropped=_total(left_out, "num_bytes"),
        tokens_kept=_total(taken, "num_tokens"),
    )


def _validation_record(source: str, taken: Sequence[dict[str, object]]) -> ValidationRecord:
    rows = [row for row in taken if row["split"] == "validation"]
    return ValidationRecord(
        source=source,
        num_documents=len(rows),
        num_bytes=_total(rows, "num_bytes"),
        num_tokens=_total(rows, "num_tokens"),
    )


def _total(rows: Sequence[dict[str, object]], name: str) -> int:
    return sum(int(row[name]) for row in rows)  # type: ignore[call-overload]
