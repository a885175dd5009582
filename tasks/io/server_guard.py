"""Run a server that never outlives the command that asked for it, not even after ``kill -9`` of that command.

Started as a file (``python -I -S server_guard.py <pid of the asker> <grace seconds> command …``), it runs the command
as its own process group and waits. When the asker dies, or on SIGTERM, the whole group gets SIGTERM, the grace
to end, then SIGKILL. Standard library only: it costs one small process.
"""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time

_PR_SET_PDEATHSIG = 1
_POLL_SECONDS = 0.05


def guard(parent: int, grace_seconds: float, command: list[str]) -> int:
    """Run ``command`` to its end, or to the end of ``parent``; return its exit code."""
    signal.signal(signal.SIGTERM, _stop)
    _die_with_parent(signal.SIGTERM)
    if os.getppid() != parent:  # it died before the kernel knew about our wish
        return 1
    # This process has one thread, so running Python between fork and exec is safe.
    child = subprocess.Popen(command, process_group=0, preexec_fn=lambda: _die_with_parent(signal.SIGKILL))
    try:
        return child.wait()
    finally:
        end_group(child, grace_seconds)


def end_group(child: subprocess.Popen[bytes], grace_seconds: float) -> None:
    """End every process of the group that ``child`` leads: SIGTERM, a grace, SIGKILL."""
    for number, seconds in ((signal.SIGTERM, grace_seconds), (signal.SIGKILL, 5.0)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, number)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            child.poll()
            if not _group_lives(child.pid):
                return
            time.sleep(_POLL_SECONDS)


def _group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def _die_with_parent(number: int) -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)


def _stop(number: int, frame: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough; the group is ended on the way out
    raise SystemExit(128 + number)


if __name__ == "__main__":
    raise SystemExit(guard(int(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]))
