"""What an installed Python environment holds: distributions with their metadata, public modules and texts.

Everything here reads; no module is imported. Order is by name everywhere, so that equal environments are read
equally. Cost: a few milliseconds per distribution, and one pass over the sources whose docstrings are measured.
"""

import importlib.metadata
import os
import re
import sys
import sysconfig
from collections.abc import Iterable
from dataclasses import dataclass, field
from email.message import Message
from pathlib import Path
from typing import cast

from packaging.requirements import Requirement

PYTHON = "python"
"""Name under which the standard library appears among the distributions."""

_LICENCE_NAMES = ("license", "licence", "copying")
_TEXT_SUFFIXES = {"", ".txt", ".rst", ".md"}
_NO_SOURCE_BYTES = 4000  # taken as the size of the documentation of modules that are not written in Python
_FOR_AGENTS = re.compile(r"(?:^|/)(?:skills/|agents\.md|claude\.md|skill\.md)", re.IGNORECASE)
_DOCSTRINGS = re.compile(rb'"""(.*?)"""', re.DOTALL)
_NOT_PUBLIC = re.compile(
    r"(?:^|\.)(?:_.*|tests?|testing|conftest|.*_tests?|test_.*|setup|migrations|vendor|vendored|third_party|examples?"
    r"|benchmarks?|antigravity|this|idlelib|turtle|turtledemo|tkinter|lib2to3|pydoc_data|ensurepip|site|nt|winreg"
    r"|sitecustomize|usercustomize)(?:\.|$)"
)


@dataclass(frozen=True, slots=True)
class Distribution:
    """One installed distribution with what its metadata states; ``modules`` map public names to documentation bytes."""

    name: str
    version: str
    summary: str
    description: str
    license_expression: str
    license_field: str
    classifiers: tuple[str, ...]
    root: Path
    files: tuple[str, ...] = field(repr=False)

    def license_texts(self) -> list[str]:
        """Return the licence files that came with the distribution."""
        names = [name for name in self.files if ".dist-info/" in name and _is_licence(name)]
        return [text for name in names if (text := self.read_text(name))]

    def sizes(self, names: Iterable[str]) -> dict[str, int]:
        """Return the sizes in bytes of files that are there and not empty."""
        paths = {name: self.root / name for name in names}
        return {name: size for name, path in paths.items() if path.is_file() and (size := path.stat().st_size)}

    def read(self, name: str) -> bytes:
        """Return the content of a file."""
        return (self.root / name).read_bytes()

    def read_text(self, name: str) -> str:
        """Return the text of a UTF-8 file, or "" if it is missing or no UTF-8."""
        try:
            return (self.root / name).read_text(encoding="utf-8")
        except (FileNotFoundError, UnicodeDecodeError):
            return ""

    def modules(self) -> dict[str, int]:
        """Return public module names with the bytes of their docstrings."""
        names = {name: _module_name(name) for name in self.files if name.endswith(".py")}
        return {
            module: _documentation_bytes(self.root / name)
            for name, module in sorted(names.items())
            if module and not _NOT_PUBLIC.search(module)
        }

    def python_files(self) -> list[str]:
        """Return the paths of public Python files below :attr:`root`."""
        return [
            name
            for name in self.files
            if name.endswith(".py") and (module := _module_name(name)) and not _NOT_PUBLIC.search(module)
        ]

    def text_files(self) -> list[str]:
        """Return the paths of text files below :attr:`root`."""
        return [
            name for name in self.files if Path(name).suffix in {".txt", ".rst", ".md"} and not _FOR_AGENTS.search(name)
        ]


def distributions() -> list[Distribution]:
    """Return the installed distributions, sorted by normalised name; of two copies the one that imports first."""
    found: dict[str, Distribution] = {}
    for entry in importlib.metadata.distributions():
        metadata = cast(Message, entry.metadata)
        if not metadata or not metadata["Name"]:
            continue  # a broken installation
        name = re.sub(r"[-_.]+", "-", metadata["Name"]).lower()
        files = sorted(str(item) for item in entry.files or [] if not str(item).startswith(("..", "/")))
        found.setdefault(
            name,
            Distribution(
                name,
                entry.version,
                metadata.get("Summary") or "",
                (metadata.get("Description") or str(metadata.get_payload() or "")).strip(),
                metadata.get("License-Expression") or "",
                metadata.get("License") or "",
                tuple(metadata.get_all("Classifier") or ()),
                Path(str(entry.locate_file(""))),
                tuple(files),
            ),
        )
    return [found[name] for name in sorted(found)]


def required_by(name: str) -> set[str]:
    """Return the normalised names of a distribution and of all it requires here, extras left out.

    Empty when it is not installed. What else is in the environment (a developer's tools) is none of them.
    """
    found: set[str] = set()
    waiting = [name]
    while waiting:
        item = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        try:
            requirements = importlib.metadata.requires(item) or []
        except importlib.metadata.PackageNotFoundError:
            continue
        if item not in found:
            found.add(item)
            parsed = map(Requirement, requirements)
            waiting += [part.name for part in parsed if not part.marker or part.marker.evaluate({"extra": ""})]
    return found


def standard_library() -> Distribution:
    """Return the standard library as a distribution without a description."""
    root = Path(sysconfig.get_path("stdlib"))
    files: list[str] = []
    for name in sorted(sys.stdlib_module_names):
        if (root / f"{name}.py").is_file():
            files.append(f"{name}.py")
        elif (root / name).is_dir():
            files.extend(str(path.relative_to(root)) for path in (root / name).rglob("*.py"))
        else:
            files.append(f"{name}.py")  # built in, or an extension: importable, no file
    version = ".".join(map(str, sys.version_info[:3]))
    return Distribution(PYTHON, version, "The Python standard library", "", "", "", (), root, tuple(sorted(files)))


def help_topics() -> dict[str, str]:
    """Return the texts behind Python's ``help()`` topics (empty where they are not installed)."""
    try:
        from pydoc_data.topics import topics
    except ImportError:
        return {}
    return dict(topics)


def machine_folders() -> list[str]:
    """Return folders of this interpreter and user, whose names tell something about this machine."""
    paths = [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix, *sysconfig.get_paths().values()]
    paths.append(str(Path.home()))
    return sorted({text for path in paths for text in (path, os.path.realpath(path))})


def _is_licence(name: str) -> bool:
    path = Path(name)
    return path.suffix in _TEXT_SUFFIXES and any(word in path.name.lower() for word in _LICENCE_NAMES)


def _module_name(path: str) -> str:
    """Return the dotted name of a file, or "" if it cannot be imported by one."""
    parts = path.removesuffix(".py").split("/")
    if parts[-1] == "__init__":
        parts.pop()
    return ".".join(parts) if parts and all(part.isidentifier() for part in parts) else ""


def _documentation_bytes(path: Path) -> int:
    if not path.is_file():
        return _NO_SOURCE_BYTES
    return sum(len(match.group(1)) for match in _DOCSTRINGS.finditer(path.read_bytes()))
