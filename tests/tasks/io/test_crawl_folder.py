"""A crawl folder appears whole or not at all."""

from pathlib import Path

import pytest

from tasks.core.errors import InputError
from tasks.io.crawl_folder import CrawlFolder


def _build(path: Path, text: str) -> None:
    with CrawlFolder(path, "done.json").building() as new:
        new.write("a/a.txt", b"always")
        new.write("a/b.txt", text.encode())
        new.write("done.json", b'{"text": "%s"}' % text.encode())


def _siblings(path: Path) -> list[str]:
    return sorted(item.name for item in path.parent.iterdir())


def test_a_folder_appears_whole_and_a_new_build_replaces_it(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "crawl"
    _build(path, "one")
    _build(path, "two")
    assert (path / "a/b.txt").read_text() == "two"
    assert CrawlFolder(path, "done.json").summary() == {"text": "two"}
    assert _siblings(path) == ["crawl"]


def test_a_failed_build_leaves_the_earlier_one_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "crawl"
    _build(path, "one")
    with pytest.raises(AttributeError):
        _build(path, None)  # type: ignore[arg-type]
    assert (path / "a/b.txt").read_text() == "one"
    assert ".crawl.new" not in _siblings(path)


def test_what_a_killed_build_left_is_removed_by_the_next(tmp_path: Path) -> None:
    path = tmp_path / "crawl"
    (tmp_path / ".crawl.new" / "a").mkdir(parents=True)
    (tmp_path / ".crawl.new" / "a" / "half.txt").write_text("half")
    _build(path, "one")
    assert sorted(item.name for item in path.rglob("*.txt")) == ["a.txt", "b.txt"]
    assert _siblings(path) == ["crawl"]


def test_a_folder_with_other_files_is_refused_and_kept(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match="is no crawl"):
        _build(tmp_path, "one")
    assert (tmp_path / "thesis.txt").read_text() == "years of work"
