"""For flows: one real Prefect server and one small real crawl for the whole session, and commands as processes."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tasks.crawl.crawler import crawl
from tasks.crawl.stage import CrawlConfig
from tasks.io.services import LocalServices

ROOT = Path(__file__).parents[2]
Command = Callable[..., Any]


@pytest.fixture(scope="session")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of commands: a Prefect server that ends with the session."""
    root = tmp_path_factory.mktemp("services")
    with LocalServices(root).prefect_server(port=4270) as url:
        api = os.environ.pop("PREFECT_API_URL")
        assert api.startswith(url)
        yield {**os.environ, "PREFECT_API_URL": api, "PREFECT_HOME": str(root / "prefect"), "PYTHONPATH": str(ROOT)}


@pytest.fixture(scope="session")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small crawl of this Python environment."""
    folder = tmp_path_factory.mktemp("crawl") / "crawl"
    config = CrawlConfig(
        web_pages=40, web_pages_of_python=40, web_files=2, code_bytes=500_000, code_bytes_per_distribution=120_000,
        books_bytes=600_000, reference_files=1,
    )  # fmt: skip
    crawl(folder, config)
    return folder


@pytest.fixture
def new_store(tmp_path: Path, crawled: Path) -> Callable[[str], Path]:
    """Make a store that has the small crawl and nothing else."""

    def make(name: str) -> Path:
        shutil.copytree(crawled, tmp_path / name / "crawl")
        return tmp_path / name

    return make


@pytest.fixture
def glassworks(services: dict[str, str]) -> Command:
    """Run a command with --json in a store to its end and return its JSON; settings are ``a.b=value`` texts."""

    def run(command: str, preset: str, store: Path, *overrides: str, **options: str) -> Any:
        done = subprocess.run(
            command_line(command, preset, *overrides, **options), env={**services, "GLASSWORKS_STORE": str(store)},
            capture_output=True, text=True, check=False, timeout=800, cwd=tempfile.gettempdir(),
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-3000:]
        return json.loads(done.stdout)

    return run


@pytest.fixture
def killed_glassworks(services: dict[str, str]) -> Command:
    """Start a command and kill -9 it as soon as something is so; it must not have ended before."""

    def run(when: Callable[[], bool], command: str, preset: str, store: Path, *overrides: str) -> None:
        process = subprocess.Popen(
            command_line(command, preset, *overrides), env={**services, "GLASSWORKS_STORE": str(store)},
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=tempfile.gettempdir(),
        )  # fmt: skip
        try:
            while not when():
                assert process.poll() is None, "the command ended before it could be killed"
                time.sleep(0.01)
        finally:
            process.kill()
            process.wait()

    return run


def command_line(command: str, preset: str, *overrides: str, **options: str) -> list[str]:
    """Return the arguments of a command with its settings and other options."""
    changes = [part for override in overrides for part in ("--set", override)]
    changes += [part for name, value in options.items() for part in (f"--{name}", value)]
    return [sys.executable, "-m", "flows", command, preset, "--json", *changes]


@pytest.fixture
def refused(services: dict[str, str]) -> Callable[..., str]:
    """Run a command that a user's fault must end with exit code 2, and return what the user reads."""

    def run(command: str, preset: str, store: Path, *overrides: str) -> str:
        done = subprocess.run(
            command_line(command, preset, *overrides),
            env={**services, "GLASSWORKS_STORE": str(store), "COLUMNS": "400"},
            capture_output=True, text=True, check=False, timeout=800, cwd=tempfile.gettempdir(),
        )  # fmt: skip
        assert done.returncode == 2, done.stderr[-3000:]
        assert "Traceback" not in done.stderr
        assert done.stdout == ""
        return " ".join(done.stderr.replace("│", " ").split())

    return run
