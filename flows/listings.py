"""What is in a store: its data versions and its training runs, as rows. Cost: a read of a few small files each."""

import json
import time
from typing import Any

from tasks.io.store import Store
from tasks.io.versions import list_versions, read_manifest

_ALIVE_SECONDS = 60.0


def version_rows(store: Store) -> list[dict[str, Any]]:
    """Return the data versions, the newest last."""
    manifests = sorted(
        (read_manifest(store, version) for version in list_versions(store)),
        key=lambda manifest: (manifest.created_at, manifest.version),
    )
    return [
        {
            "version": manifest.version,
            "created_at": manifest.created_at,
            "documents": sum(shard.num_documents for shard in manifest.train_shards),
            "tokens": manifest.num_tokens,
            "rows": manifest.num_rows,
            "sequence_length": manifest.sequence_length,
            "mix": ", ".join(f"{mix.source} {mix.share_realised:.1%}" for mix in manifest.mix),
            "parent": manifest.parent,
        }
        for manifest in manifests
    ]


def newest_version(store: Store, name: str = "") -> str:
    """Return the data version (of a name, if given) that was made last, or "" when there is none."""
    manifests = [read_manifest(store, version) for version in list_versions(store)]
    mine = [manifest for manifest in manifests if name in ("", manifest.name)]
    return max(mine, key=lambda manifest: (manifest.created_at, manifest.version)).version if mine else ""


def run_rows(store: Store) -> list[dict[str, Any]]:
    """Return the training runs, by id."""
    paths = store.list("runs")
    ids = sorted({path.split("/")[1] for path in paths if path.endswith("/run.json") and path.count("/") == 2})
    return [_run_row(store, run, {path.removeprefix(f"runs/{run}/") for path in paths}) for run in ids]


def _run_row(store: Store, run: str, files: set[str]) -> dict[str, Any]:
    record = store.read_json(f"runs/{run}/run.json")
    last = _last_record(store, f"runs/{run}/metrics.jsonl") if "metrics.jsonl" in files else {}
    checkpoints = sorted(name.split("/")[1] for name in files if _is_checkpoint(name))
    shipped = store.read_json(f"runs/{run}/shipped.json") if "shipped.json" in files else {}
    return {
        "run": run,
        "status": _status(store, run, files),
        "data_version": str(record.get("data_version", "")),
        "step": int(last.get("step", 0)),
        "loss": last.get("loss"),
        "attempts": sum(name.startswith("attempts/") for name in files),
        "checkpoint": checkpoints[-1] if checkpoints else "",
        "mlflow_run_id": str(shipped.get("mlflow_run_id", "")),
    }


def _is_checkpoint(name: str) -> bool:
    parts = name.split("/")
    return (
        len(parts) == 3 and parts[0] == "checkpoints" and parts[1].startswith("step-") and parts[2] == "manifest.json"
    )


def _status(store: Store, run: str, files: set[str]) -> str:
    if "done.json" in files:
        return "done"
    if "heartbeat" in files and store.is_local:
        age = time.time() - store.local_path(f"runs/{run}/heartbeat").stat().st_mtime
        return "running" if age < _ALIVE_SECONDS else "stopped"
    return "stopped"


def _last_record(store: Store, path: str) -> dict[str, Any]:
    lines = [line for line in store.read_bytes(path).split(b"\n") if line.strip()]
    for line in reversed(lines):
        try:
            return dict(json.loads(line))
        except ValueError:
            continue  # still being written, or cut by a crash
    return {}
