"""Inputs: found by pattern, named without the machine's paths, fingerprinted by content."""

import gzip
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tasks.core.errors import InputError
from tasks.io.inputs import find_inputs


def files(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"content of {name}")


def test_a_missing_file_and_an_empty_pattern_say_source_and_pattern(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"source web: no file matches .*nothing\*\.warc"):
        find_inputs("web", [str(tmp_path / "nothing*.warc")], "warc")
    with pytest.raises(InputError, match=r"source web: no file matches .*absent\.warc"):
        find_inputs("web", [str(tmp_path / "absent.warc")], "warc")


def test_names_and_fingerprints_are_the_same_wherever_the_files_lie(tmp_path: Path) -> None:
    found = []
    for place in ("here", "there/deeper"):
        files(tmp_path / place, "b.warc", "a.warc", "sub/c.warc")
        found.append(find_inputs("web", [str(tmp_path / place / "**/*.warc")], "warc"))
    assert [item.name for item in found[0]] == ["a.warc", "b.warc", "sub/c.warc"]
    assert [(item.name, item.sha256) for item in found[0]] == [(item.name, item.sha256) for item in found[1]]


def test_a_tree_gives_one_input_per_top_level_folder(tmp_path: Path) -> None:
    files(tmp_path, "REUSE.toml", "one/a.py", "one/deep/b.py", "two/c.py")
    found = {item.name: [name for name, _ in item.files] for item in find_inputs("code", [str(tmp_path)], "tree")}
    assert found == {"(root)": ["REUSE.toml"], "one": ["one/a.py", "one/deep/b.py"], "two": ["two/c.py"]}


def test_a_changed_file_changes_only_its_own_input(tmp_path: Path) -> None:
    files(tmp_path, "one/a.py", "two/c.py")
    before = {item.name: item.sha256 for item in find_inputs("code", [str(tmp_path)], "tree")}
    (tmp_path / "two/c.py").write_text("changed")
    after = {item.name: item.sha256 for item in find_inputs("code", [str(tmp_path)], "tree")}
    assert before["one"] == after["one"]
    assert before["two"] != after["two"]


def test_a_path_list_and_the_store_are_expanded(tmp_path: Path) -> None:
    files(tmp_path, "crawl/a.warc", "crawl/b.warc")
    (tmp_path / "paths.txt").write_text(f"{tmp_path}/crawl/a.warc\n\nstore://crawl/b.warc\n")
    found = find_inputs("web", [f"@{tmp_path}/paths.txt"], "warc", str(tmp_path))
    assert [item.name for item in found] == ["a.warc", "b.warc"]


def test_two_files_of_one_name_are_refused_with_both(tmp_path: Path) -> None:
    files(tmp_path, "x/a.warc", "y/a.warc")
    with pytest.raises(InputError, match=r"two files have the name 'a\.warc'.*x/a\.warc.*y/a\.warc"):
        find_inputs("web", [str(tmp_path / "x/*.warc"), str(tmp_path / "y/*.warc")], "warc")


def test_a_missing_path_list_is_an_error_of_the_source(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"source web: cannot read the path list"):
        find_inputs("web", [f"@{tmp_path}/paths.txt"], "warc")


@pytest.fixture
def web_server(tmp_path: Path) -> Iterator[str]:
    """A real HTTP server on 127.0.0.1 for the files of ``tmp_path``."""
    handler = partial(QuietHandler, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()
        thread.join()


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Print nothing."""


def test_a_path_list_over_http_is_read_as_local_files_are(tmp_path: Path, web_server: str) -> None:
    """Common Crawl's lists have paths without a host: the prefix says where they are."""
    files(tmp_path, "crawl-data/x/a.warc", "crawl-data/x/b.warc")
    with gzip.open(tmp_path / "warc.paths.gz", "wt") as paths:
        paths.write("crawl-data/x/a.warc\ncrawl-data/x/b.warc\n")
    remote = find_inputs("web", [f"@{tmp_path}/warc.paths.gz"], "warc", prefix=web_server)
    local = find_inputs("web", [f"{tmp_path}/crawl-data/x/*.warc"], "warc")
    assert [(item.name, item.num_bytes, item.sha256) for item in remote] == [
        (item.name, item.num_bytes, item.sha256) for item in local
    ]
    assert remote[0].files[0][1] == f"{web_server}crawl-data/x/a.warc"
