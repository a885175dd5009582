"""The crawl of this very environment, small: repeatable, complete, anonymous, truly licensed."""

import gzip
import json
import tomllib
from pathlib import Path

import pytest
from fastwarc.warc import ArchiveIterator, WarcRecordType

from tasks.crawl.crawler import crawl
from tasks.crawl.site import names_machine
from tasks.crawl.stage import CrawlConfig, CrawlSummary
from tasks.io.python_environment import machine_folders

CONFIG = CrawlConfig(
    first=["python", "pyyaml", "python-dateutil"],
    web_pages=14,
    web_pages_of_python=10,
    web_files=3,
    code_bytes=120_000,
    code_bytes_per_distribution=60_000,
    books_bytes=500_000,
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, CrawlSummary]:
    path = tmp_path_factory.mktemp("crawls") / "first"
    return path, crawl(path, CONFIG)


def _contents(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}


def _pages(path: Path) -> dict[str, tuple[str, str]]:
    found = {}
    for file in sorted((path / "web").iterdir()):
        with file.open("rb") as stream:
            for record in ArchiveIterator(stream, record_types=WarcRecordType.response):
                link = record.http_headers.get("Link") or ""
                found[record.headers["WARC-Target-URI"]] = (record.reader.read().decode(), link)
    return found


def test_equal_environments_give_equal_bytes(made: tuple[Path, CrawlSummary], tmp_path: Path) -> None:
    other = tmp_path / "second"
    summary = crawl(other, CONFIG.model_copy(update={"processes": 1}))
    assert _contents(other) == _contents(made[0])
    assert summary == made[1]


def test_a_second_crawl_writes_nothing_and_says_so(made: tuple[Path, CrawlSummary]) -> None:
    before = {file: file.stat().st_mtime_ns for file in made[0].rglob("*")}
    again = crawl(made[0], CONFIG)
    assert again == made[1].model_copy(update={"reused": True})
    assert {file: file.stat().st_mtime_ns for file in made[0].rglob("*")} == before


def test_no_output_names_a_folder_of_this_machine(made: tuple[Path, CrawlSummary]) -> None:
    folders = machine_folders()
    for name, content in _contents(made[0]).items():
        data = gzip.decompress(content) if name.endswith(".gz") else content
        assert not names_machine(data.decode(errors="replace"), folders), name
        assert b" object at 0x" not in data or not name.startswith("web/"), name


def test_pages_carry_their_true_licence_and_noise(made: tuple[Path, CrawlSummary]) -> None:
    pages = _pages(made[0])
    assert len(pages) == made[1].sources["web"].num_documents
    python = {url: page for url, page in pages.items() if "/python/" in url}
    assert len(python) > 5
    assert {link for _, link in python.values()} == {'<https://spdx.org/licenses/PSF-2.0>; rel="license"'}
    assert all("cookie" in html for html, _ in python.values())
    languages = {html.split('lang="')[1][:2] for url, (html, _) in pages.items() if url.startswith("https://pages.")}
    assert languages == {"ar", "de", "en", "es", "fr", "it", "ja", "pt", "ru", "zh"}


def test_trees_state_their_licences_as_reuse_files(made: tuple[Path, CrawlSummary]) -> None:
    for source in ("code", "books"):
        stated = {
            entry["path"].split("/")[-2]: entry["SPDX-License-Identifier"]
            for entry in tomllib.loads((made[0] / source / "REUSE.toml").read_text())["annotations"]
        }
        assert stated["python"] == "PSF-2.0"
        for name in made[1].unlicensed:
            assert name not in stated


def test_descriptions_are_json_lines_with_every_field(made: tuple[Path, CrawlSummary]) -> None:
    files = sorted((made[0] / "reference").iterdir())
    rows = [json.loads(line) for file in files for line in gzip.decompress(file.read_bytes()).splitlines()]
    assert len(rows) == made[1].sources["reference"].num_documents
    assert {tuple(sorted(row)) for row in rows} == {("fetched_at", "license", "text", "title", "url")}
    by_name = {row["url"].rpartition("/")[2]: row for row in rows}
    assert by_name["pyyaml"]["license"] == "MIT"
    assert "glassworks" not in by_name


def test_progress_ends_complete(tmp_path: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    small = CONFIG.model_copy(update={"web_pages": 3, "books_bytes": 0, "code_bytes": 0})
    crawl(tmp_path / "small", small, lambda what, done, total: seen.append((what, done, total)))
    assert ("modules rendered", 3, 3) in seen
    assert seen[-1][1] == seen[-1][2]
