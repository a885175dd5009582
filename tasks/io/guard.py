"""The guard of a launch: starts the ranks, joins their output, and leaves nothing running. Standard library only.

``python guard.py <ranks> <log folder> <command…>``, as the leader of its own session. When its parent dies (even by
SIGKILL) the kernel tells it, and it ends the ranks; when it dies itself, the kernel ends the ranks. It adopts
processes that the ranks leave behind (subreaper) and ends them too. When one rank fails the others are ended. Its exit
code is 0 only if every rank's was, else that of the rank that failed first. Single-threaded: one selector loop.
"""

import ctypes
import os
import selectors
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType
from typing import IO

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_POLL_SECONDS = 0.2
_STOP_SECONDS = 18.0  # after SIGTERM from above: a rank may finish its step and save
_FAIL_SECONDS = 5.0  # after another rank has failed: there is nothing to save
_LIBC = ctypes.CDLL(None, use_errno=True)


def die_with_parent(number: signal.Signals) -> None:
    """Ask the kernel to send this process a signal when its parent ends."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, int(number), 0, 0, 0)


class Guard:
    """The ranks of one launch."""

    def __init__(self, ranks: int, log_folder: Path, command: list[str]) -> None:
        self._deadline = float("inf")
        self._stopping = False
        self._first_failure = 0
        self._selector = selectors.DefaultSelector()
        self._rests: dict[int, bytes] = {}
        self._ranks: dict[int, subprocess.Popen[bytes]] = {}
        self._logs: dict[int, IO[bytes]] = {}
        for rank in range(ranks):
            self._start(rank, ranks, log_folder, command)

    def _start(self, rank: int, ranks: int, log_folder: Path, command: list[str]) -> None:
        environment = {**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(ranks)}
        process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            preexec_fn=lambda: die_with_parent(signal.SIGKILL),
        )
        assert process.stdout is not None  # noqa: S101 - asked for above
        os.set_blocking(process.stdout.fileno(), False)
        self._selector.register(process.stdout, selectors.EVENT_READ, rank)
        self._ranks[rank] = process
        self._rests[rank] = b""
        self._logs[rank] = (log_folder / f"rank-{rank}.log").open("ab", buffering=0)

    def ask_to_stop(self, _number: int = 0, _frame: FrameType | None = None) -> None:
        """Signal handler: let the ranks finish their step; end them after a while."""
        if not self._stopping:
            self._stopping = True
            self._deadline = time.monotonic() + _STOP_SECONDS
            self._signal(signal.SIGTERM)

    def run(self) -> int:
        """Wait for all ranks and return the exit code."""
        while self._selector.get_map() or any(process.poll() is None for process in self._ranks.values()):
            for key, _ in self._selector.select(_POLL_SECONDS):
                self._forward(key)
            self._look_for_failures()
            if time.monotonic() > self._deadline:
                _end_children()
            if all(process.poll() is not None for process in self._ranks.values()):
                _end_children()  # they may hold the pipes open
        self._look_for_failures()  # of a rank that ended between the last look and the loop's condition
        return self._first_failure

    def _look_for_failures(self) -> None:
        for process in self._ranks.values():
            code = process.poll()
            if code and not self._first_failure:
                self._first_failure = code if code > 0 else 128 - code
                if not self._stopping:
                    self._deadline = min(self._deadline, time.monotonic() + _FAIL_SECONDS)
                    self._signal(signal.SIGTERM)

    def _signal(self, number: signal.Signals) -> None:
        for process in self._ranks.values():
            if process.poll() is None:
                process.send_signal(number)

    def _forward(self, key: selectors.SelectorKey) -> None:
        rank: int = key.data
        data = os.read(key.fd, 1 << 16)
        if not data:
            self._selector.unregister(key.fileobj)
        self._logs[rank].write(data)
        *lines, self._rests[rank] = (self._rests[rank] + data).split(b"\n")
        if not data and self._rests[rank]:
            lines.append(self._rests[rank])
        prefix = f"[rank {rank}] ".encode() if len(self._ranks) > 1 else b""
        try:
            for line in lines:
                os.write(sys.stdout.fileno(), prefix + line + b"\n")
        except BrokenPipeError:  # nobody reads any more; the log files have it all
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _end_children() -> None:
    """End every child of this process, those that ranks left behind and it has adopted included."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            parent = int((entry / "stat").read_text(errors="replace").rpartition(")")[2].split()[1])
            if parent == os.getpid():
                os.kill(int(entry.name), signal.SIGKILL)
        except (FileNotFoundError, ProcessLookupError):
            continue


def main(arguments: list[str]) -> int:
    """Run the guard."""
    parent = int(arguments[0])
    _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    die_with_parent(signal.SIGTERM)
    if os.getppid() != parent:
        return 128 + signal.SIGTERM
    guard = Guard(int(arguments[1]), Path(arguments[2]), arguments[3:])
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, guard.ask_to_stop)
    return guard.run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
