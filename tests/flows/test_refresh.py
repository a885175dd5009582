"""The data half as a user runs it: a version, found again, independent of workers, safe from kill -9."""

import hashlib
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

SMALL = (
    "mix.num_tokens=200000", "mix.validation_share=0.1", "tokenizer.vocab_size=1024", "tokenizer.training_bytes=300000",
    "pack.sequence_length=128", "pack.rows_per_shard=64",
)  # fmt: skip
WRITTEN = ("documents", "dropped", "signatures", "dedup", "tokenizers", "tokens", "plans", "versions")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def contents(store: Path) -> dict[str, str]:
    """SHA-256 of every file that a refresh writes; the manifest without when and by which commit it was made."""
    found = {}
    for file in sorted(path for folder in WRITTEN for path in (store / folder).rglob("*") if path.is_file()):
        content = file.read_bytes()
        if file.name == "manifest.json":
            manifest = json.loads(content)
            manifest["config"].pop("execution")
            content = json.dumps({**manifest, "created_at": "", "code": {}}, sort_keys=True).encode()
        found[str(file.relative_to(store))] = hashlib.sha256(content).hexdigest()
    return found


def num_files(store: Path) -> int:
    """How many of them are there."""
    return sum(path.is_file() for folder in WRITTEN for path in (store / folder).rglob("*"))


def test_a_refresh_gives_the_same_bytes_whatever_the_workers_and_however_often_it_is_killed(
    new_store: Callable[[str], Path],
    glassworks: Callable[..., Any],
    killed_glassworks: Callable[..., None],
) -> None:
    quiet = new_store("quiet")
    first = glassworks("refresh", "demo", quiet, *SMALL, "execution.workers=1")
    expected = contents(quiet)
    assert any(name.endswith("manifest.json") for name in expected)

    disturbed = new_store("disturbed")
    draw = random.Random(5)
    for share in sorted(draw.uniform(0.05, 0.95) for _ in range(3)):
        enough = int(share * len(expected))
        killed_glassworks(
            lambda enough=enough: num_files(disturbed) >= enough,
            *("refresh", "demo", disturbed, *SMALL, "execution.workers=2"),
        )
    second = glassworks("refresh", "demo", disturbed, *SMALL, "execution.workers=2")
    assert second["version"] == first["version"]
    assert contents(disturbed) == expected
    assert [file for file in (disturbed / "tmp").rglob("*") if file.is_file()] == []

    again = glassworks("refresh", "demo", disturbed, *SMALL)
    assert again["reused"]
    assert again["version"] == first["version"]
    assert contents(disturbed) == expected


def test_every_raw_document_is_accounted_for_and_every_token_has_an_address(
    new_store: Callable[[str], Path], glassworks: Callable[..., Any]
) -> None:
    store = new_store("store")
    version = glassworks("refresh", "demo", store, *SMALL)["version"]
    manifest = json.loads((store / "versions" / version / "manifest.json").read_text())
    assert set(manifest["funnel"]) == {"web", "code", "books", "reference"}
    for stages in manifest["funnel"].values():
        kept = None
        for stage in ("extract", "safety", "language", "quality", "dedup", "mix"):
            counts = stages[stage]
            assert counts["seen"] == counts["kept"] + sum(counts["dropped"].values())
            assert kept in (None, counts["seen"])
            kept = counts["kept"]
    reasons = {
        reason for stages in manifest["funnel"].values() for item in stages.values() for reason in item["dropped"]
    }
    assert "licence_unknown" in reasons
    assert "language_not_wanted" in reasons

    index = pq.read_table(store / "versions" / version / "index.parquet").to_pylist()
    repeats = {row["doc_id"]: row["repeats"] for row in index if row["split"] == "train"}
    sizes = {row["doc_id"]: row["num_tokens"] for row in index}
    seen: dict[bytes, int] = {}
    eos = 0
    for shard in manifest["train_shards"]:
        for row in pq.read_table(store / "versions" / version / shard["path"]).to_pylist():
            assert sum(row["segment_lengths"]) == row["num_tokens"]
            eos += np.count_nonzero(np.array(row["input_ids"]) == manifest["tokenizer"]["eos_token_id"])
            for doc_id, length in zip(row["segment_doc_ids"], row["segment_lengths"], strict=True):
                seen[doc_id] = seen.get(doc_id, 0) + length
    assert seen == {doc_id: sizes[doc_id] * number for doc_id, number in repeats.items()}
    assert eos == sum(repeats.values()) == sum(shard["num_documents"] for shard in manifest["train_shards"])
    for record in manifest["mix"]:
        assert abs(record["share_realised"] - record["weight_normalised"]) < 0.05
