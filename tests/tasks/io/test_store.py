"""The store: files appear whole or not at all, and faults are told in a user's words."""

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tasks.core.errors import StoreError
from tasks.io.store import Store


def test_a_file_appears_only_when_its_block_ends_well(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    with store.writing("a/b.txt") as temporary:
        temporary.write_text("half")
        assert not store.exists("a/b.txt")
    assert store.read_bytes("a/b.txt") == b"half"
    with pytest.raises(ZeroDivisionError), store.writing("a/c.txt") as temporary:
        temporary.write_text("half")
        raise ZeroDivisionError
    assert store.list("") == ["a/b.txt", *[name for name in store.list("") if name.startswith("tmp/")]]
    assert store.list("a") == ["a/b.txt"]


def test_a_failed_write_leaves_the_old_content(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    store.write_bytes("x", b"old")
    with pytest.raises(ZeroDivisionError), store.writing("x") as temporary:
        temporary.write_bytes(b"new")
        raise ZeroDivisionError
    assert store.read_bytes("x") == b"old"


def test_a_path_cannot_leave_the_store(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="leaves the store"):
        Store(str(tmp_path)).path("../secrets")


def test_a_full_disk_is_told_as_such() -> None:
    """/dev/full is a real device on which every write fails with ENOSPC."""
    store = Store("/dev/shm") if Path("/dev/shm").is_dir() else Store("/tmp")  # noqa: S108
    with pytest.raises(StoreError, match=r"no space left on the device; free space there"), store.writing("never"):
        with open("/dev/full", "wb", buffering=0) as full:
            full.write(b"x")
    assert not store.exists("never")


def test_a_store_below_a_file_is_told_as_such(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot create temporary files"):
        Store(str(tmp_path / "file" / "store")).write_bytes("x", b"")


def test_a_sweep_removes_what_a_killed_process_left_and_nothing_else(tmp_path: Path) -> None:
    code = (
        "import sys, time; from tasks.io.store import Store\n"
        "with Store(sys.argv[1]).writing('x.bin') as t:\n"
        "    t.write_bytes(b'1' * 1000); print('ready', flush=True); time.sleep(60)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE)
    assert process.stdout
    assert process.stdout.readline() == b"ready\n"
    store = Store(str(tmp_path))
    with store.writing("mine") as mine:
        mine.write_bytes(b"2")
        assert store.sweep() == 0
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
        deadline = time.monotonic() + 5
        while not store.sweep() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert mine.exists()
    assert [name for name in store.list("tmp") if not name.endswith(".lock")] == []
    assert not store.exists("x.bin")


def test_json_round_trips_with_sorted_keys(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    store.write_json("x.json", {"b": 1, "a": [None, "ü"]})
    assert store.read_json("x.json") == {"a": [None, "ü"], "b": 1}
    assert store.read_bytes("x.json").startswith(b'{\n  "a"')


def test_a_store_in_memory_works_through_the_same_door() -> None:
    store = Store("memory://glassworks-test")
    store.write_bytes("a/x", b"1")
    assert (store.read_bytes("a/x"), store.list("a"), store.is_local) == (b"1", ["a/x"], False)
    with pytest.raises(StoreError, match="needs a local store"):
        store.local_path("a/x")


def test_threads_that_write_first_at_the_same_time_share_one_folder(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    start = threading.Barrier(8)

    def write(number: int) -> None:
        start.wait()
        store.write_bytes(f"file-{number}", b"x")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    assert len(list((tmp_path / "tmp").glob("*.lock"))) == 1
    assert len(store.list("")) == 8 + 1
