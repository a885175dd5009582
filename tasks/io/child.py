"""One killable child process: limits of an item, what a lost item is, and both ends of the pipe.

An item runs under limits of CPU time and memory; what breaks one, or kills the child, becomes a :class:`Lost`. The
child ends with the process that owns it, even when that is killed.
"""

import contextlib
import ctypes
import os
import pickle
import resource
import signal
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from typing import Any

from tasks.core.errors import PipelineError
from tasks.io.processes import cpu_seconds, mapped_bytes, resident_bytes

_POLL_SECONDS = 0.2
_WALL_PER_CPU = 20
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True)
class Limits:
    """Per item: CPU seconds and bytes of memory; per child: items and resident bytes before it is replaced."""

    cpu_seconds: float = 30.0
    memory_bytes: int = 4 << 30
    items_per_child: int = 2000
    resident_bytes: int = 1 << 30


@dataclass(frozen=True, slots=True)
class Lost:
    """An item without a result: ``reason`` is ``timeout``, ``memory`` or ``crash``."""

    reason: str
    value: str
    limit: str


@dataclass(frozen=True, slots=True)
class Raised:
    """An exception on its way to the owner."""

    error: BaseException


class Child:
    """The owner's end: give it work, wait for results, end it."""

    def __init__(self, context: Any) -> None:  # noqa: ANN401 - multiprocessing's contexts share no public base
        self.served = 0
        self._pipe, inside = context.Pipe()
        self._process = context.Process(target=_serve, args=(inside,), daemon=True)
        self._process.start()
        inside.close()
        try:
            self._pipe.recv()
        except (EOFError, ConnectionResetError):
            raise PipelineError(
                "child process",
                f"could not start ({self._death()})",
                "if a script of your own starts a flow, do it under `if __name__ == '__main__':`",
            ) from None

    def alive(self) -> bool:
        """Tell whether it runs."""
        return bool(self._process.is_alive())

    def is_worn(self, limits: Limits) -> bool:
        """Tell whether it has served, or grown, enough to be replaced."""
        return self.served >= limits.items_per_child or resident_bytes(self._process.pid) > limits.resident_bytes

    def send(self, function: Callable[..., Any], arguments: tuple[Any, ...], memory_bytes: int) -> None:
        """Give it work (0 bytes: no limit)."""
        self.served += 1
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # receive() finds out why
            self._pipe.send((function, arguments, memory_bytes))

    def receive(self) -> Any:  # noqa: ANN401
        """Return its result, or what it raised as :class:`Raised`."""
        try:
            return self._pipe.recv()
        except (EOFError, ConnectionResetError):
            raise PipelineError(
                "child process", f"died ({self._death()})", "free memory or use fewer workers, then start again"
            ) from None

    def run(self, function: Callable[..., Any], item: Any, limits: Limits) -> Any:  # noqa: ANN401
        """Give it one item, and wait for the result or find out that there will be none."""
        began, wall = cpu_seconds(self._process.pid), time.monotonic()
        self.send(function, (item,), limits.memory_bytes)
        while not self._pipe.poll(_POLL_SECONDS):
            used = cpu_seconds(self._process.pid) - began
            if used > limits.cpu_seconds or time.monotonic() - wall > _WALL_PER_CPU * limits.cpu_seconds:
                return Lost("timeout", f"more than {limits.cpu_seconds:g} CPU s", f"{limits.cpu_seconds:g} CPU s")
        try:
            result = self._pipe.recv()
        except (EOFError, ConnectionResetError):
            return Lost("crash", self._death(), "")
        if isinstance(result, Raised):
            if isinstance(result.error, MemoryError):
                return Lost("memory", "", f"{limits.memory_bytes} bytes")
            raise result.error
        return result

    def end(self) -> None:
        """Kill it; whoever waits for it finds out."""
        self._process.kill()

    def kill(self) -> None:
        """Kill it and clear up; nobody may be waiting for it."""
        self.end()
        self._process.join()
        self._pipe.close()

    def _death(self) -> str:
        self._process.join(5)
        code = self._process.exitcode
        return f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"


def _serve(pipe: Connection) -> None:
    """Child side: run what comes, until the other end is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the owner decides what Ctrl-C means
    _die_with_parent()
    pipe.send(None)  # ready
    while True:
        try:
            function, arguments, memory_bytes = pipe.recv()
        except (EOFError, ConnectionResetError):
            return
        if memory_bytes:
            resource.setrlimit(resource.RLIMIT_AS, (mapped_bytes() + memory_bytes, resource.RLIM_INFINITY))
        try:
            result = function(*arguments)
        except BaseException as error:  # noqa: BLE001 - carried to the owner and raised there
            result = Raised(_portable(error))
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        try:
            pipe.send(result)
        except (BrokenPipeError, ConnectionResetError):
            return
        result = None


def _die_with_parent() -> None:
    """Ask the kernel to kill this process when the fork server ends, and let that end with the owner.

    By its own rule the fork server outlives the owner as long as a child holds the end of a pipe: it is closed here.
    """
    os.close(forkserver._forkserver._forkserver_alive_fd)  # type: ignore[attr-defined]
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _portable(error: BaseException) -> BaseException:
    """Return the error with this side's traceback as a note; one that cannot be pickled becomes a RuntimeError."""
    lines = "".join(traceback.format_exception(error))
    try:
        copy: BaseException = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    except Exception:  # noqa: BLE001 - whatever its class does when it is copied
        copy = RuntimeError(repr(error))
    copy.add_note(f"in a child process:\n{lines}")
    return copy
