"""Checkpoints on disk: whole and verified, or not there.

A checkpoint is written into a hidden folder beside its place; every file is fsynced and hashed, the manifest is
written last, then the folder is renamed. At a restart the newest checkpoint whose files match its manifest is taken;
damaged ones are reported, and when there are only damaged ones the run stops: it never falls back to step 0.
Cost of a save beyond writing: one SHA-256 pass over the files.
"""

import os
import shutil
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from tasks.core.errors import LaunchError, StaleOutputError
from tasks.io.records import RunFolder, read_json, read_records, write_json
from tasks.io.store import fsync_folder, sha256_of

FORMAT = "checkpoint/1"
_MANIFEST = "manifest.json"
_PERMANENT = "permanent"
_HIDDEN = ".partial-"
_HASH_THREADS = 4


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A published checkpoint: its folder, step, and manifest (empty when it cannot be read)."""

    path: Path
    step: int
    manifest: Mapping[str, Any]

    @property
    def model(self) -> Path:
        """Folder that ``from_pretrained`` loads."""
        return self.path / "model"

    @property
    def permanent(self) -> bool:
        """Whether someone marked it to stay for good (a file named ``permanent``)."""
        return (self.path / _PERMANENT).exists()


def folder_name(step: int) -> str:
    """Return the name of the checkpoint of a step."""
    return f"step-{step:08d}"


def partial_folder(run: RunFolder, step: int) -> Path:
    """Return the hidden folder that the checkpoint of a step is written into."""
    return run.checkpoints / f"{_HIDDEN}{folder_name(step)}"


@contextmanager
def writing(run: RunFolder, step: int, facts: Mapping[str, Any]) -> Iterator[Path]:
    """Give the hidden folder; when the block ends well, the checkpoint appears under its name."""
    partial = partial_folder(run, step)
    partial.mkdir(parents=True, exist_ok=True)
    yield partial
    publish(partial, run.checkpoints / folder_name(step), facts)


def publish(partial: Path, target: Path, facts: Mapping[str, Any]) -> None:
    """Hash and fsync the files, write the manifest last, and rename the folder into place."""
    files = sorted(file for file in partial.rglob("*") if file.is_file())
    with ThreadPoolExecutor(_HASH_THREADS) as threads:
        hashed = dict(
            zip([str(file.relative_to(partial)) for file in files], threads.map(_secured, files), strict=True)
        )
    for folder in {file.parent for file in files}:
        fsync_folder(folder)
    write_json(partial / _MANIFEST, {"format": FORMAT, **facts, "files": hashed})
    if target.exists():  # a step trained again after going back further: the new one replaces the old
        _discard(target)
    partial.replace(target)
    fsync_folder(target.parent)


def list_checkpoints(run: RunFolder) -> list[Checkpoint]:
    """Return all checkpoints under their final name, oldest first; not verified."""
    found = [_checkpoint(folder) for folder in run.checkpoints.glob("step-*") if folder.name[5:].isdigit()]
    return sorted(found, key=lambda checkpoint: checkpoint.step)


def problem_of(checkpoint: Checkpoint) -> str:
    """Return what is wrong with a checkpoint, or "" when every file is what its manifest says."""
    if not checkpoint.manifest:
        return "no readable manifest"
    if checkpoint.manifest.get("format") != FORMAT:
        return f"format {checkpoint.manifest.get('format')!r}, this version reads {FORMAT!r}"
    files = checkpoint.manifest["files"]
    for name, record in sorted(files.items()):
        file = checkpoint.path / name
        if not file.is_file():
            return f"{name} is missing"
        if file.stat().st_size != record["num_bytes"]:
            return f"{name} has {file.stat().st_size} bytes, wanted {record['num_bytes']}"
    for name, record in sorted(files.items()):
        with (checkpoint.path / name).open("rb") as handle:
            if sha256_of(handle) != record["sha256"]:
                return f"{name} is damaged (its SHA-256 differs)"
    return ""


def newest_usable(run: RunFolder, report: Callable[[str], None]) -> Checkpoint | None:
    """Return the newest checkpoint that verifies, or None when there is none at all.

    Raises:
        LaunchError: there are checkpoints, and none of them can be used.
    """
    problems = []
    for checkpoint in reversed(list_checkpoints(run)):
        problem = problem_of(checkpoint)
        if not problem:
            return checkpoint
        problems.append(f"{checkpoint.path.name}: {problem}")
        report(f"checkpoint {checkpoint.path.name} is not used: {problem}")
    if problems:
        raise LaunchError(
            f"run {run.run_id}",
            f"has {len(problems)} checkpoint(s) and none can be used: {'; '.join(problems)}",
            f"restore one from a copy; to start again from step 0, move {run.checkpoints} away",
        )
    return None


def check_same(checkpoint: Checkpoint, expected: Mapping[str, Any]) -> None:
    """Refuse to continue from a checkpoint of another data version, model or settings.

    Raises:
        StaleOutputError: with a table of the keys that differ.
    """
    before, now = _flat(checkpoint.manifest.get("identity", {})), _flat(expected)
    different = sorted(key for key in before.keys() | now.keys() if before.get(key) != now.get(key))
    if different:
        rows = [f"  {key}: checkpoint {before.get(key)!r}, now {now.get(key)!r}" for key in different]
        raise StaleOutputError(
            f"checkpoint {checkpoint.path}",
            "was made by other settings:\n" + "\n".join(rows) + "\n",
            "restore those settings, or start a run of another name",
        )


def clean(run: RunFolder) -> None:
    """Remove what killed writers left."""
    for folder in run.checkpoints.glob(f"{_HIDDEN}*"):
        shutil.rmtree(folder)


def prune(run: RunFolder, keep: int) -> list[int]:
    """Delete all but the newest ``keep``; never an evaluated (so never the best) or permanent one. Return the steps."""
    evaluated = {record["step"] for record in read_records(run.evaluations)}
    old = list_checkpoints(run)[:-keep]
    gone = [item for item in old if item.step not in evaluated and not item.permanent]
    for checkpoint in gone:
        _discard(checkpoint.path)
    return [checkpoint.step for checkpoint in gone]


def _discard(folder: Path) -> None:
    hidden = folder.with_name(f"{_HIDDEN}gone-{uuid.uuid4().hex[:8]}")
    folder.replace(hidden)
    shutil.rmtree(hidden)


def _checkpoint(folder: Path) -> Checkpoint:
    try:
        manifest = read_json(folder / _MANIFEST)
    except (OSError, orjson.JSONDecodeError):
        manifest = {}
    return Checkpoint(folder, int(folder.name[5:]), manifest if isinstance(manifest, dict) else {})


def _secured(file: Path) -> dict[str, Any]:
    file.chmod(0o644)  # some writers keep others out
    with file.open("rb") as handle:
        os.fsync(handle.fileno())
        return {"num_bytes": file.stat().st_size, "sha256": sha256_of(handle)}


def _flat(value: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, item in value.items():
        if isinstance(item, Mapping):
            flat.update(_flat(item, f"{prefix}{key}."))
        else:
            flat[f"{prefix}{key}"] = item
    return flat
