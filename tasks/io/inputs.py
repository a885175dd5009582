"""From a source's patterns to inputs: what there is to read, named and fingerprinted by content.

An *input* is the unit of work and of reuse: one file (WARC, WET, JSONL, Parquet, HTML or text), or one top-level
folder of a tree. Its name is relative to its pattern's fixed part, so a document's id is the same on every
machine.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

import fsspec
from fsspec.core import url_to_fs

from tasks.core.errors import InputError
from tasks.io.store import sha256_of

TREE_FORMATS = ("tree",)
_MAGIC = "*?["


@dataclass(frozen=True, slots=True)
class Input:
    """One input: its name within the source, format, and the files it is made of (name, full URL)."""

    source: str
    name: str
    format: str
    files: tuple[tuple[str, str], ...]
    num_bytes: int
    sha256: str


def find_inputs(
    source: str, patterns: Iterable[str], input_format: str, store_url: str = "", prefix: str = ""
) -> list[Input]:
    """Find, sort and fingerprint all inputs of a source.

    A path list (``@file``) is expanded line by line, each with ``prefix`` before it; ``store://x`` is ``x`` below the
    store's root.

    Raises:
        InputError: a pattern matches nothing, two files have one name, or a file cannot be read.
    """
    found: dict[str, list[tuple[str, str]]] = {}
    for listed in _listed(source, patterns, prefix):
        pattern = listed.replace("store://", f"{store_url}/", 1) if listed.startswith("store://") else listed
        matches = _matches(source, pattern, input_format)
        if not matches:
            raise InputError(
                f"source {source}",
                f"no file matches {pattern!r}",
                "check the path, or run `glassworks crawl` first for the demo",
            )
        for name, url in matches:
            key = _input_name(name, input_format)
            if (name, url) not in found.setdefault(key, []):
                found[key].append((name, url))
    return [_input(source, key, input_format, files) for key, files in sorted(found.items())]


def _listed(source: str, patterns: Iterable[str], prefix: str) -> Iterable[str]:
    for pattern in patterns:
        if not pattern.startswith("@"):
            yield pattern
            continue
        try:
            with fsspec.open(pattern[1:], "rt", encoding="utf-8", compression="infer") as file:
                yield from (prefix + line.strip() for line in file if line.strip())
        except OSError as error:
            raise InputError(
                f"source {source}", f"cannot read the path list {pattern[1:]} ({error})", "check the path"
            ) from error


def _matches(source: str, pattern: str, input_format: str) -> list[tuple[str, str]]:
    """Return (name, url) of all files of a pattern; names are relative to its part before any wildcard."""
    try:
        fs, path = url_to_fs(pattern)
        path = str(path).rstrip("/")
        if any(sign in path for sign in _MAGIC):
            root = path[: min(path.index(sign) for sign in _MAGIC if sign in path)].rpartition("/")[0]
            paths = [item for item in fs.glob(path) if fs.isfile(item)]
        elif fs.isdir(path):
            root, paths = path, fs.find(path)
        else:
            root, paths = path.rpartition("/")[0], [path] if fs.exists(path) else []
    except (OSError, ValueError, ImportError) as error:
        raise InputError(
            f"source {source}", f"cannot list {pattern!r} ({error})", "check the URL and its access"
        ) from error
    start = len(root) + 1 if root else 0
    return sorted((str(item)[start:], fs.unstrip_protocol(item)) for item in paths)


def _input_name(name: str, input_format: str) -> str:
    if input_format not in TREE_FORMATS:
        return name
    top, slash, _ = name.partition("/")
    return top if slash else "(root)"


def _input(source: str, name: str, input_format: str, files: list[tuple[str, str]]) -> Input:
    names = [item for item, _ in files]
    if len(set(names)) < len(names):
        twice = next(item for item in names if names.count(item) > 1)
        urls = [url for item, url in files if item == twice]
        raise InputError(
            f"source {source}",
            f"two files have the name {twice!r}: {', '.join(urls)}",
            "give each its own source or folder",
        )
    digest = hashlib.sha256()
    total = 0
    for item, url in sorted(files):
        try:
            with fsspec.open(url, "rb") as file:
                content = sha256_of(file)
                total += file.tell()
        except OSError as error:
            raise InputError(
                f"source {source}", f"cannot read {url} ({error})", "check the file and its access"
            ) from error
        digest.update(f"{item}\0{content}\n".encode(errors="surrogatepass"))
    return Input(source, name, input_format, tuple(sorted(files)), total, digest.hexdigest())
