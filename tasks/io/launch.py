"""Start ranks under supervision, follow their output, and end all of them with us.

Why an own launcher on one machine: `deepspeed` can exit 0 while ranks died or live on, forwards no signals and its
store listens on all interfaces; `torchrun` leaves ranks behind when it is killed. Here a guard process leads a session
of its own: it dies with us, its ranks die with it, one failed rank ends all, and success needs exit code 0 of every
rank *and* the marker file that the last rank writes last. Many machines (a hostfile) are a launcher of their own.
"""

import contextlib
import fcntl
import os
import selectors
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from tasks.core.errors import LaunchError
from tasks.io.records import RunFolder

STOPPED = 75
"""Exit code of a rank that was asked to stop, has saved, and can be continued."""
_TICK_SECONDS = 0.5
_GRACE_SECONDS = 25.0  # Prefect allows 30 between SIGTERM and SIGKILL
_REAP_SECONDS = 3.0
_LOCK_SECONDS = 40.0
_GUARD = Path(__file__).with_name("guard.py")
_ROOT = Path(__file__).parents[2]
_QUIET = {
    "PYTHONUNBUFFERED": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "TORCH_CPP_LOG_LEVEL": "ERROR",
    "HF_HUB_OFFLINE": "1",
    "DO_NOT_TRACK": "true",
}
# Measured on two cores: threads that sleep at a barrier instead of spinning give 5 times the tokens per CPU second
# when other processes want the cores too; keeping freed memory instead of returning it gives another 1.15 times.
_FAST_ON_CPU = {
    "OMP_WAIT_POLICY": "passive",
    "MALLOC_TOP_PAD_": str(1 << 28),
    "MALLOC_MMAP_THRESHOLD_": str(1 << 32),
    "MALLOC_TRIM_THRESHOLD_": str(1 << 34),
}


def _nothing() -> None:
    """Do nothing at a tick."""


def launch(
    command: Sequence[str],
    ranks: int,
    run: RunFolder,
    marker: Path,
    on_line: Callable[[str], None],
    should_stop: Callable[[], bool] = lambda: False,
    on_tick: Callable[[], None] = _nothing,
    environment: Mapping[str, str] | None = None,
) -> int:
    """Run ``python <command>`` on every rank until all have ended; return 0, or STOPPED when asked to stop.

    The run must be locked (:func:`locked`). Whatever ends this function, no process is left.

    Raises:
        LaunchError: a rank failed, or all ended well without leaving ``marker``.
    """
    log = run.logs
    with contextlib.ExitStack() as stack:
        process = subprocess.Popen(
            [sys.executable, str(_GUARD), str(os.getpid()), str(ranks), str(log), sys.executable, *command],
            env=_environment(ranks, environment or {}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=_lock_descriptors(run),
        )
        stack.callback(_end_group, process)
        tail, asked = _follow(process, on_line, should_stop, on_tick)
        code = process.wait()
    on_tick()
    if code == STOPPED or (asked and code == 128 + signal.SIGTERM):  # the latter: asked before Python was up
        return STOPPED
    if code:
        raise LaunchError(
            f"run {run.run_id}", _described(code, tail), f"see the logs in {log}; start again to continue"
        )
    if not marker.exists():
        raise LaunchError(
            f"run {run.run_id}", f"all ranks ended, but {marker.name} is missing", f"see the logs in {log}"
        )
    return 0


@contextlib.contextmanager
def locked(run: RunFolder) -> Iterator[None]:
    """Hold the run for this process; the lock also lives as long as the guard of a launch does.

    Raises:
        LaunchError: another process has it.
    """
    run.path.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(run.lock, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        _acquire(run, descriptor)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        _LOCKS[str(run.path)] = descriptor
        yield
    finally:
        _LOCKS.pop(str(run.path), None)
        os.close(descriptor)


_LOCKS: dict[str, int] = {}


def require_compiler(run_id: str) -> None:
    """Check that what DeepSpeed compiles for optimizer offload can be compiled.

    Raises:
        LaunchError: there is no C++ compiler or no ninja.
    """
    missing = [name for name in ("g++", "ninja") if not shutil.which(name)]
    if missing:
        raise LaunchError(
            f"run {run_id}",
            f"missing {' and '.join(missing)}: offload_optimizer compiles DeepSpeed's CPU Adam at its first use",
            "install them (Debian: apt-get install g++ ninja-build), or set offload_optimizer to false",
        )


def _acquire(run: RunFolder, descriptor: int) -> None:
    deadline = time.monotonic() + _LOCK_SECONDS
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(descriptor, 32, 0).decode() or "unknown"
            if _alive(holder) or time.monotonic() > deadline:
                raise LaunchError(
                    f"run {run.run_id}", f"already running by pid {holder}", "wait for it, or stop it first"
                ) from None
            time.sleep(0.2)  # its guard is still ending the ranks


def _alive(pid: str) -> bool:
    return pid.isdigit() and Path(f"/proc/{pid}").exists()


def _lock_descriptors(run: RunFolder) -> tuple[int, ...]:
    return (_LOCKS[str(run.path)],)


def _environment(ranks: int, extra: Mapping[str, str]) -> dict[str, str]:
    cores = len(os.sched_getaffinity(0))
    path = os.pathsep.join(filter(None, [str(_ROOT), os.environ.get("PYTHONPATH", "")]))
    threads = {"OMP_NUM_THREADS": str(max(1, cores // ranks)), "PYTHONPATH": path}
    return {**_FAST_ON_CPU, **os.environ, **_QUIET, **threads, **extra}


def _follow(
    process: "subprocess.Popen[bytes]",
    on_line: Callable[[str], None],
    should_stop: Callable[[], bool],
    on_tick: Callable[[], None],
) -> tuple[list[str], bool]:
    """Hand on lines until the output ends; return the last few, and whether the ranks were asked to stop."""
    assert process.stdout is not None  # noqa: S101 - asked for in launch()
    tail: list[str] = []
    rest = b""
    asked = False
    next_tick = 0.0
    with process.stdout as stdout, selectors.DefaultSelector() as selector:
        selector.register(stdout, selectors.EVENT_READ)
        while True:
            data = os.read(stdout.fileno(), 1 << 16) if selector.select(_TICK_SECONDS) else None
            if data == b"":
                return tail, asked
            *lines, rest = (rest + (data or b"")).split(b"\n")
            for line in lines:
                text = line.decode(errors="replace").rstrip()
                tail = [*tail[-14:], text]
                on_line(text)
            if time.monotonic() >= next_tick:
                next_tick = time.monotonic() + _TICK_SECONDS
                on_tick()
            if not asked and should_stop():
                asked = True
                process.send_signal(signal.SIGTERM)


def _end_group(process: "subprocess.Popen[bytes]") -> None:
    """Ask what is left of the session to end, wait for all of it, and insist after a while."""
    deadline = time.monotonic() + _GRACE_SECONDS
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    while True:
        process.poll()
        late = time.monotonic() - deadline
        try:
            os.killpg(process.pid, 0 if late < 0 else signal.SIGKILL)
        except ProcessLookupError:
            return
        if late > _REAP_SECONDS:  # only dead ones are left, which their new parent does not collect
            return
        time.sleep(0.05)


def _described(code: int, tail: Sequence[str]) -> str:
    number = code - 128 if code > 128 else -code
    cause = f"ended by {signal.Signals(number).name}" if number in set(signal.Signals) else f"exit code {code}"
    lines = "\n".join(f"  | {line}" for line in tail)
    return f"training failed: a rank {cause}; its last lines:\n{lines}\n"
