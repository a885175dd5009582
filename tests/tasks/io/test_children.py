"""Children: limits cost their own item, errors come back, and nobody outlives the owner."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tasks.core.errors import InputError, PipelineError
from tasks.io.child import Limits, Lost
from tasks.io.children import Children

ROOT = Path(__file__).parents[3]
QUICK = Limits(cpu_seconds=0.5, memory_bytes=256 << 20)


class OddError(Exception):
    def __init__(self, left: int, right: int) -> None:
        super().__init__(f"{left} and {right}")


def act(item: object) -> object:
    match item:
        case "spin":
            while True:
                pass
        case "explode":
            return len(bytearray(4 << 30))
        case "much":
            return len(bytearray(200 << 20))
        case "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "pid":
            return os.getpid()
        case "input error":
            raise InputError("here", "a problem", "a fix")
        case "odd error":
            raise OddError(1, 2)
        case "unpicklable error":
            raise ValueError(lambda: None)
    return item


@pytest.fixture
def children() -> Iterator[Children]:
    pool = Children()
    yield pool
    pool.close()


def test_an_item_that_spins_is_lost_and_its_neighbours_are_not(children: Children) -> None:
    before, lost, after = children.map(act, ["a", "spin", "b"], QUICK)
    assert (before, after) == ("a", "b")
    assert isinstance(lost, Lost)
    assert (lost.reason, lost.limit) == ("timeout", "0.5 CPU s")


def test_an_item_that_takes_too_much_memory_is_lost_and_its_neighbours_are_not(children: Children) -> None:
    before, lost, after = children.map(act, ["a", "explode", "b"], QUICK)
    assert (before, after) == ("a", "b")
    assert lost == Lost("memory", "", f"{256 << 20} bytes")


def test_memory_within_the_limit_is_there_whatever_the_child_has_mapped_already(children: Children) -> None:
    assert list(children.map(act, ["much"] * 5, Limits(memory_bytes=256 << 20))) == [200 << 20] * 5


def test_an_item_that_crashes_its_child_is_lost_and_its_neighbours_are_not(children: Children) -> None:
    before, lost, after = children.map(act, ["a", "crash", "b"], QUICK)
    assert (before, after) == ("a", "b")
    assert lost == Lost("crash", "signal 11", "")


def test_a_child_killed_by_somebody_else_costs_no_item(children: Children) -> None:
    outcomes = children.map(act, ["pid", "pid", "pid"], QUICK)
    first = next(outcomes)
    assert isinstance(first, int)
    os.kill(first, signal.SIGKILL)
    rest = list(outcomes)
    assert all(isinstance(pid, int) and pid != first for pid in rest)


def test_a_child_is_reused_and_then_replaced(children: Children) -> None:
    limits = Limits(items_per_child=2)
    pids = list(children.map(act, ["pid"] * 5, limits))
    assert pids[0] == pids[1] != pids[2] == pids[3] != pids[4]
    assert children.call(act, "pid") == pids[4]


def test_a_child_that_has_grown_is_replaced(children: Children) -> None:
    pids = list(children.map(act, ["pid"] * 3, Limits(resident_bytes=1)))
    assert len(set(pids)) == 3


def test_errors_come_back_with_the_traceback_of_the_child(children: Children) -> None:
    with pytest.raises(InputError, match="here: a problem; a fix") as caught:
        children.call(act, "input error")
    assert "in act" in caught.value.__notes__[0]
    with pytest.raises(InputError):
        list(children.map(act, ["input error"], QUICK))


@pytest.mark.parametrize(("item", "text"), [("odd error", "1 and 2"), ("unpicklable error", "lambda")])
def test_errors_that_cannot_travel_come_back_as_their_description(children: Children, item: str, text: str) -> None:
    with pytest.raises(RuntimeError, match=text):
        children.call(act, item)
    assert children.call(act, "fine") == "fine"


def test_a_call_whose_child_dies_says_so(children: Children) -> None:
    with pytest.raises(PipelineError, match=r"died \(signal 11\)"):
        children.call(act, "crash")


def test_an_abandoned_map_leaves_no_busy_child(children: Children) -> None:
    outcomes = children.map(act, iter(["pid", "spin"]), QUICK)
    pid = next(outcomes)
    outcomes.close()  # type: ignore[attr-defined]
    assert isinstance(pid, int)
    assert _is_gone(pid, 5)


def test_no_child_outlives_an_owner_that_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "owner.py"
    script.write_text(
        "import os, threading, time\n"
        "from tasks.io.children import CHILDREN\n"
        "if __name__ == '__main__':\n"
        "    pid = CHILDREN.call(os.getpid)\n"
        "    threading.Thread(target=CHILDREN.call, args=(sum, range(10**12))).start()\n"
        "    time.sleep(0.3)\n"
        "    print(pid, flush=True)\n"
        "    time.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
    ) as owner:
        assert owner.stdout is not None
        pid = int(owner.stdout.readline())
        assert not _is_gone(pid, 0)
        owner.kill()
    assert _is_gone(pid, 10)


def _is_gone(pid: int, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while True:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        if time.monotonic() >= end:
            return False
        time.sleep(0.05)


def test_a_script_without_a_main_guard_is_told_what_to_do(tmp_path: Path) -> None:
    script = tmp_path / "unguarded.py"
    script.write_text("from tasks.io.children import CHILDREN\nprint(CHILDREN.call(abs, -3))\n")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    done = subprocess.run(
        [sys.executable, str(script)], env=environment, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode != 0
    assert "could not start (exit code 1); if a script of your own starts a flow" in done.stderr


def test_an_abort_ends_children_at_work_and_tells_those_who_wait(children: Children) -> None:
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(children.call, time.sleep, 60)
        while not children._busy:
            time.sleep(0.01)
        began = time.monotonic()
        children.abort()
        with pytest.raises(PipelineError, match="died"):
            waiting.result(10)
        assert time.monotonic() - began < 5


def test_an_abort_is_no_crash_of_the_item_at_work(children: Children) -> None:
    """Else a cancelled flow would go on with the file, and put a good page on record as lost."""
    seen: list[object] = []

    def follow() -> None:
        seen.extend(children.map(time.sleep, [0.0, 60.0, 0.0], Limits()))

    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(follow)
        time.sleep(1.5)
        began = time.monotonic()
        children.abort()
        with pytest.raises(PipelineError, match="was ended with its flow"):
            waiting.result(10)
        assert time.monotonic() - began < 5
    assert not any(isinstance(outcome, Lost) for outcome in seen)
