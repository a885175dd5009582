"""Supervised launches: exit codes, stopping, locks, and that nothing is ever left running."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tasks.core.errors import LaunchError
from tasks.io.launch import STOPPED, launch, locked, require_compiler
from tasks.io.records import RunFolder

ROOT = Path(__file__).parents[3]


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    run = RunFolder(tmp_path / "run")
    run.prepare()
    return run


def start(run: RunFolder, script: str, ranks: int = 1, lines: list[str] | None = None, stop_at: str = "") -> int:
    said = [] if lines is None else lines
    command = ["-c", script, str(run.path)]
    with locked(run):
        return launch(command, ranks, run, run.done, said.append, lambda: bool(stop_at) and stop_at in said)


def alive_with(run: RunFolder) -> list[int]:
    """Processes that have the run's folder on their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if str(run.path).encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except (FileNotFoundError, ProcessLookupError):
                continue
    return found


def wait_until_gone(run: RunFolder, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while alive_with(run):
        assert time.monotonic() < deadline, alive_with(run)
        time.sleep(0.05)


def test_every_rank_gets_its_place_and_its_lines_are_merged(run: RunFolder) -> None:
    script = (
        "import os, sys, pathlib; print(os.environ['RANK'], os.environ['LOCAL_RANK'], os.environ['WORLD_SIZE'], "
        "os.environ['OMP_NUM_THREADS']); pathlib.Path(sys.argv[1], 'done.json').touch()"
    )
    lines: list[str] = []
    assert start(run, script, 2, lines) == 0
    threads = max(1, len(os.sched_getaffinity(0)) // 2)
    assert sorted(lines) == [f"[rank 0] 0 0 2 {threads}", f"[rank 1] 1 1 2 {threads}"]
    assert (run.logs / "rank-1.log").read_text() == f"1 1 2 {threads}\n"


def test_exit_code_zero_without_the_marker_is_a_failure(run: RunFolder) -> None:
    with pytest.raises(LaunchError, match=r"done.json is missing"):
        start(run, "pass")


def test_the_exit_code_and_last_lines_of_a_failed_rank_are_told(run: RunFolder) -> None:
    with pytest.raises(LaunchError, match=r"exit code 7(.|\n)*the reason"):
        start(run, "print('the reason'); raise SystemExit(7)")


def test_one_dead_rank_ends_the_others_even_if_they_ignore_sigterm(run: RunFolder) -> None:
    script = (
        "import os, signal, time; signal.signal(15, signal.SIG_IGN); "
        "os.environ['RANK'] == '1' and os.kill(os.getpid(), 9); time.sleep(100)"
    )
    began = time.monotonic()
    with pytest.raises(LaunchError, match="SIGKILL"):
        start(run, script, 2)
    assert time.monotonic() - began < 15
    assert not alive_with(run)


def test_what_ranks_leave_behind_is_ended_too(run: RunFolder) -> None:
    script = (
        "import subprocess, sys, pathlib; "
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(100)', sys.argv[1]], start_new_session=True);"
        "pathlib.Path(sys.argv[1], 'done.json').touch()"
    )
    assert start(run, script) == 0
    wait_until_gone(run, 2)


def test_ranks_that_are_asked_to_stop_may_finish_and_their_code_is_handed_on(run: RunFolder) -> None:
    script = (
        "import signal, sys, time, pathlib\n"
        "def stop(*_): time.sleep(0.5); pathlib.Path(sys.argv[1], 'saved').touch(); sys.exit(75)\n"
        "signal.signal(15, stop); print('up', flush=True); time.sleep(100)"
    )
    assert start(run, script, stop_at="up") == STOPPED
    assert (run.path / "saved").exists()


def test_an_exception_here_ends_the_ranks_before_it_goes_on(run: RunFolder) -> None:
    def interrupt(_line: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), locked(run):
        launch(["-c", "import time; print(1, flush=True); time.sleep(100)"], 2, run, run.done, interrupt)
    assert not alive_with(run)


@pytest.mark.parametrize("victim", ["parent", "guard"])
def test_p6_kill_9_of_the_parent_or_the_guard_leaves_no_rank(run: RunFolder, victim: str) -> None:
    rank = "import time; print('up', flush=True); time.sleep(100)"
    driver = (
        "import pathlib, sys; from tasks.io.launch import launch, locked; from tasks.io.records import RunFolder\n"
        "run = RunFolder(sys.argv[1])\n"
        f"with locked(run): launch(['-c', {rank!r}, sys.argv[1]], 2, run, run.done, lambda text: print(text, flush=1))"
    )
    command = [sys.executable, "-c", driver, str(run.path)]
    parent = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert parent.stdout is not None
    with parent.stdout:
        assert "up" in parent.stdout.readline()
        with pytest.raises(LaunchError, match=f"already running by pid {parent.pid}"), locked(run):
            pass
        guards = [pid for pid in alive_with(run) if b"guard.py" in Path(f"/proc/{pid}/cmdline").read_bytes()]
        os.kill(parent.pid if victim == "parent" else guards[0], signal.SIGKILL)
        parent.wait(20)
    wait_until_gone(run, 5)
    with locked(run):  # and the run can be taken again
        pass


def test_offload_without_a_compiler_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LaunchError, match=r"missing g\+\+.*apt-get install g\+\+"):
        require_compiler("run-1")
