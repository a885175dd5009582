"""HTML pages, texts and source trees, with licences from REUSE.toml."""

from pathlib import Path

import pytest

from tasks.core.document import RawDocument
from tasks.core.errors import InputError
from tasks.io.trees import Licenses, is_local, read_file

REUSE = """version = 1
[[annotations]]
path = "**"
SPDX-License-Identifier = "MIT"
[[annotations]]
path = ["docs/*.txt", 'odd\\*name.txt']
SPDX-License-Identifier = ["CC0-1.0", "MIT OR ISC"]
"""


def url(path: Path) -> str:
    return f"file://{path}"


def stated(folder: Path, name: str, file: str) -> str:
    return Licenses().of(name, url(folder / file))


def test_the_last_matching_annotation_counts_and_stars_stop_at_a_slash(tmp_path: Path) -> None:
    (tmp_path / "REUSE.toml").write_text(REUSE)
    assert stated(tmp_path, "a.txt", "a.txt") == "MIT"
    assert stated(tmp_path, "docs/a.txt", "docs/a.txt") == "CC0-1.0 AND (MIT OR ISC)"
    assert stated(tmp_path, "docs/sub/a.txt", "docs/sub/a.txt") == "MIT"
    assert stated(tmp_path, "odd*name.txt", "odd*name.txt") == "CC0-1.0 AND (MIT OR ISC)"
    assert stated(tmp_path, "oddXname.txt", "oddXname.txt") == "MIT"


def test_the_nearest_file_counts_and_those_above_the_source_are_seen(tmp_path: Path) -> None:
    (tmp_path / "books" / "mine").mkdir(parents=True)
    (tmp_path / "REUSE.toml").write_text(REUSE)
    (tmp_path / "books" / "mine" / "REUSE.toml").write_text(
        'version = 1\n[[annotations]]\npath = "a.txt"\nSPDX-License-Identifier = "ISC"\n'
    )
    assert stated(tmp_path, "mine/a.txt", "books/mine/a.txt") == "ISC"
    assert stated(tmp_path, "mine/b.txt", "books/mine/b.txt") == "MIT"


def test_without_a_statement_there_is_no_licence(tmp_path: Path) -> None:
    assert stated(tmp_path, "a.txt", "a.txt") == ""


def test_a_changed_licence_changes_the_fingerprint(tmp_path: Path) -> None:
    files = (("a.txt", url(tmp_path / "a.txt")),)
    before = Licenses().fingerprint(files)
    (tmp_path / "REUSE.toml").write_text(REUSE)
    assert Licenses().fingerprint(files) != before


@pytest.mark.parametrize("content", ["not toml", "annotations = [1]", "[[annotations]]\nx = 1"])
def test_a_malformed_file_says_which_it_is(tmp_path: Path, content: str) -> None:
    (tmp_path / "REUSE.toml").write_text(content)
    with pytest.raises(InputError, match=r"REUSE\.toml: not a valid REUSE file"):
        stated(tmp_path, "a.txt", "a.txt")


@pytest.mark.parametrize(
    ("name", "content", "input_format", "expected"),
    [
        ("a.py", b"x = 1", "tree", "text/x-python"),
        ("a.html", b"<p>", "tree", "text/x-html-source"),
        ("a.html", b"<p>", "html", "text/html"),
        ("Makefile", b"all:", "tree", "text/plain"),
        ("a.py", b"\0\1", "tree", "application/octet-stream"),
        ("a.txt", "text".encode("utf-16"), "text", "text/plain"),
    ],
)
def test_the_suffix_and_the_bytes_tell_the_media_type(
    tmp_path: Path, name: str, content: bytes, input_format: str, expected: str
) -> None:
    (tmp_path / name).write_bytes(content)
    (found,) = read_file(name, url(tmp_path / name), input_format, Licenses())
    assert isinstance(found, RawDocument)
    assert (found.media_type, found.content, found.url) == (expected, content, "")


def test_a_reuse_file_is_no_document(tmp_path: Path) -> None:
    (tmp_path / "REUSE.toml").write_text(REUSE)
    assert list(read_file("REUSE.toml", url(tmp_path / "REUSE.toml"), "text", Licenses())) == []


def test_only_paths_of_this_machine_are_local() -> None:
    assert is_local("/a/b")
    assert is_local("file:///a/b")
    assert not is_local("s3://bucket/a")
