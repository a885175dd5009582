"""What made an output: the code's commit, and the versions of the libraries that shape it."""

import platform
import subprocess
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parents[2]


@lru_cache(maxsize=1)
def code_state() -> dict[str, Any]:
    """Return the git commit and whether the tree differs from it; empty commit outside a git checkout."""
    commit = _git("rev-parse", "HEAD")
    return {"commit": commit, "dirty": bool(commit) and bool(_git("status", "--porcelain"))}


def library_versions(names: Iterable[str]) -> dict[str, str]:
    """Return the installed versions of distributions, and Python's; "absent" where there is none."""
    return {"python": platform.python_version(), **{name: _version(name) for name in sorted(names)}}


def shaping(*names: str) -> dict[str, str]:
    """Return the versions of libraries that shape an output, and of the Unicode tables that text rules read."""
    return {**{name: _version(name) for name in sorted(names)}, "unicode": unicodedata.unidata_version}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(_ROOT), *arguments], capture_output=True, text=True, check=False, timeout=30
        )
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
