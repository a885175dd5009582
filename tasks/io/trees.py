"""Files to raw documents: HTML pages, plain texts and source-code trees, with licences from ``REUSE.toml``.

The nearest ``REUSE.toml`` above a file that has an annotation for it states the licence; in one file the last match
counts, as the REUSE specification says. The search goes up to the top folder of the source, and on a
local disk also above it. A ``REUSE.toml`` is no document. Memory: one file.
"""

import hashlib
import re
import tomllib
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

import fsspec
from fsspec.core import url_to_fs

from tasks.core.document import BadRecord, Locator, RawDocument
from tasks.core.errors import InputError
from tasks.io.fields import MAX_CONTENT_BYTES

REUSE = "REUSE.toml"
_BINARY = "application/octet-stream"
_PROBE_BYTES = 8192
_WIDE_BOMS = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
_CODE_TYPES = {
    ".py": "text/x-python", ".pyi": "text/x-python", ".pyx": "text/x-cython", ".c": "text/x-c", ".h": "text/x-c",
    ".cc": "text/x-c++", ".cpp": "text/x-c++", ".hpp": "text/x-c++", ".cu": "text/x-cuda", ".rs": "text/x-rust",
    ".go": "text/x-go", ".java": "text/x-java", ".js": "text/javascript", ".ts": "text/x-typescript",
    ".sh": "text/x-shellscript", ".html": "text/x-html-source", ".htm": "text/x-html-source", ".css": "text/x-css",
    ".md": "text/markdown", ".rst": "text/x-rst", ".toml": "text/x-toml", ".yaml": "text/x-yaml",
    ".yml": "text/x-yaml", ".json": "text/x-json", ".xml": "text/x-xml", ".csv": "text/csv", ".sql": "text/x-sql",
}  # fmt: skip


def read_file(name: str, url: str, input_format: str, licenses: "Licenses") -> Iterator[RawDocument | BadRecord]:
    """Yield the one document of a file (none for a ``REUSE.toml``).

    Raises:
        InputError: the ``REUSE.toml`` that belongs to the file is malformed.
    """
    if PurePosixPath(name).name == REUSE:
        return
    with fsspec.open(url, "rb") as file:
        content = file.read(MAX_CONTENT_BYTES + 1)
    address = "" if is_local(url) else url
    media_type = "text/html" if input_format == "html" else _media_type(name, content)
    yield RawDocument(Locator(name, 0), address, content, media_type, license=licenses.of(name, url))


class Licenses:
    """The licences that ``REUSE.toml`` files state; each such file is read once."""

    def __init__(self) -> None:
        self._annotations: dict[str, list[tuple[re.Pattern[str], str]]] = {}

    def of(self, name: str, url: str) -> str:
        """Return the SPDX expression stated for a file, or an empty text.

        Raises:
            InputError: a ``REUSE.toml`` is malformed.
        """
        for folder, path in _folders(name, url):
            if folder not in self._annotations:
                self._annotations[folder] = _read_annotations(folder)
            matches = [license_found for pattern, license_found in self._annotations[folder] if pattern.fullmatch(path)]
            if matches and matches[-1]:
                return matches[-1]
        return ""

    def fingerprint(self, files: tuple[tuple[str, str], ...]) -> str:
        """Return the SHA-256 (hex) of what is stated for each of these files."""
        digest = hashlib.sha256()
        for name, url in files:
            digest.update(f"{name}\0{self.of(name, url)}\n".encode(errors="surrogatepass"))
        return digest.hexdigest()


def is_local(url: str) -> bool:
    """Tell whether a URL is a path of this machine."""
    return "://" not in url or url.startswith(("file://", "local://"))


def _folders(name: str, url: str) -> Iterator[tuple[str, str]]:
    """Yield (folder URL, path of the file relative to it), nearest first."""
    parts = url.split("/")
    top = len(parts) - len(PurePosixPath(name).parts)
    if is_local(url):
        top = 3 if "://" in url else 1
    for cut in range(len(parts) - 1, top - 1, -1):
        yield "/".join(parts[:cut]), "/".join(parts[cut:])


def _read_annotations(folder: str) -> list[tuple[re.Pattern[str], str]]:
    file = f"{folder}/{REUSE}"
    fs, path = url_to_fs(file)
    if not fs.isfile(path):
        return []
    try:
        entries = tomllib.loads(fs.cat_file(path).decode()).get("annotations", [])
        return [pattern for entry in entries for pattern in _patterns(entry)]
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise InputError(file, f"not a valid REUSE file ({error})", "see https://reuse.software/spec-3.3") from error


def _patterns(entry: dict[str, Any]) -> Iterator[tuple[re.Pattern[str], str]]:
    stated = entry.get("SPDX-License-Identifier", "")
    expressions = [stated] if isinstance(stated, str) else list(stated)
    together = " AND ".join(f"({item})" if len(expressions) > 1 and " " in item else item for item in expressions)
    paths = entry["path"]
    for path in [paths] if isinstance(paths, str) else paths:
        yield _glob(path), together


def _glob(path: str) -> re.Pattern[str]:
    r"""``**`` matches anything, ``*`` anything but a slash; ``\\`` takes away a meaning."""
    tokens = re.findall(r"\\.|\*\*|\*|[^*\\]+|\\", path, re.DOTALL)
    meanings = {"**": ".*", "*": "[^/]*"}
    return re.compile(
        "".join(meanings.get(token) or re.escape(token[1:] if token[0] == "\\" else token) for token in tokens),
        re.DOTALL,
    )


def _media_type(name: str, content: bytes) -> str:
    """Return the type by suffix; content with NUL bytes is binary, unless it starts like UTF-16 or UTF-32."""
    if b"\0" in content[:_PROBE_BYTES] and not content.startswith(_WIDE_BOMS):
        return _BINARY
    return _CODE_TYPES.get(PurePosixPath(name).suffix.lower(), "text/plain")
