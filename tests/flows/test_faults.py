"""What users do wrong, or their machine does to them: one screen that says where, what, and what to do."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

SMALL = (
    "mix.validation_share=0.1", "tokenizer.vocab_size=1024", "tokenizer.training_bytes=300000",
    "pack.sequence_length=128", "pack.rows_per_shard=64",
)  # fmt: skip
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def inputs_of(crawled: Path) -> tuple[str, ...]:
    """Point the demo's sources at a crawl outside of the store."""
    return (
        f'sources.web.inputs=["{crawled}/web/*.warc.gz"]', f'sources.books.inputs=["{crawled}/books"]',
        f'sources.code.inputs=["{crawled}/code"]', f'sources.reference.inputs=["{crawled}/reference/*.jsonl.gz"]',
    )  # fmt: skip


def test_an_impossible_mix_is_refused_with_the_source_and_numbers_and_the_way_out_works(
    crawled: Path, tmp_path: Path, refused: Callable[..., str], glassworks: Callable[..., Any]
) -> None:
    store = tmp_path / "store"
    settings = (*SMALL, *inputs_of(crawled))
    told = refused("refresh", "demo", store, *settings, "mix.num_tokens=900000000")
    assert "of 900,000,000 tokens is" in told
    most = int(told.partition("set mix.num_tokens to at most ")[2].split()[0].strip(",").replace(",", ""))
    version = glassworks("refresh", "demo", store, *settings, f"mix.num_tokens={most}")["version"]
    assert (store / "versions" / version / "manifest.json").is_file()


def test_an_empty_source_is_named(tmp_path: Path, refused: Callable[..., str]) -> None:
    (tmp_path / "web.jsonl").write_text('{"no": "text"}\nnot json\n')
    changes = (f'sources.web.inputs=["{tmp_path}/web.jsonl"]', "sources.web.format=jsonl", "sources.web.license=MIT")
    told = refused("refresh", "warc", tmp_path / "store", *changes)
    assert "source web" in told
    assert "no document" in told


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of three megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small file system needs rights that this user does not have")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_is_told_and_the_same_command_continues_when_there_is_space(
    crawled: Path, small_disk: Path, refused: Callable[..., str], glassworks: Callable[..., Any]
) -> None:
    settings = (*SMALL, *inputs_of(crawled), "mix.num_tokens=60000")
    told = refused("refresh", "demo", small_disk / "store", *settings)
    assert "no space left on the device" in told
    assert "free space there" in told
    subprocess.run(["mount", "-o", "remount,size=200m", str(small_disk)], check=True)
    assert not glassworks("refresh", "demo", small_disk / "store", *settings)["reused"]


def test_an_offloaded_optimizer_without_a_compiler_is_told_before_anything_starts(
    crawled: Path, tmp_path: Path, services: dict[str, str], refused: Callable[..., str], glassworks: Callable[..., Any]
) -> None:
    store = tmp_path / "store"
    glassworks("refresh", "demo", store, *SMALL, *inputs_of(crawled), "mix.num_tokens=60000")
    services_without = services["PATH"]
    services["PATH"] = str(tmp_path)
    try:
        told = refused("pretrain", "demo", store, "train.offload_optimizer=true", "train.max_epochs=100")
    finally:
        services["PATH"] = services_without
    assert "missing g++" in told
    assert "apt" in told or "install" in told


def test_a_tracking_server_that_is_away_costs_neither_the_version_nor_the_next_start(
    crawled: Path, tmp_path: Path, services: dict[str, str], glassworks: Callable[..., Any]
) -> None:
    store = tmp_path / "store"
    settings = (*SMALL, *inputs_of(crawled), "mix.num_tokens=200000")
    services.update(MLFLOW_TRACKING_URI="http://127.0.0.1:9", MLFLOW_HTTP_REQUEST_MAX_RETRIES="0")
    try:
        away = glassworks("refresh", "demo", store, *settings)
    finally:
        del services["MLFLOW_TRACKING_URI"], services["MLFLOW_HTTP_REQUEST_MAX_RETRIES"]
    assert away["mlflow_run_id"] == ""
    back = glassworks("refresh", "demo", store, *settings)
    assert back["reused"]
    assert back["mlflow_run_id"]


def test_a_store_that_cannot_be_made_and_an_unknown_protocol_are_told(
    tmp_path: Path, refused: Callable[..., str]
) -> None:
    assert "cannot be made" in refused("refresh", "demo", Path("/dev/null/store"))
    assert "cannot be opened" in refused("refresh", "demo", tmp_path / "x", "store=nosuch://bucket")
