"""Killable child processes: work that may hang or explode costs its own limit, never the worker.

:meth:`Children.call` runs a whole function in a child. :meth:`Children.map` runs a function over items with limits
for each; an item that breaks one, or kills its child, becomes a :class:`Lost`, and a new child goes on with the next.
Time is the child's CPU seconds, and memory what it maps beyond what it had before the item, so a loaded machine or an
old child gives the results of an idle or new one; an item lost to memory or a crash is tried again in a new child. A
child that sleeps is ended after 20 times the limit on the wall. Children are reused, and replaced after a number of
items or when they have grown (extractors leak). They end with the process that owns them, even when it is killed.
"""

import contextlib
import ctypes
import multiprocessing
import os
import pickle
import resource
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from tasks.core.errors import PipelineError
from tasks.io.processes import cpu_seconds, mapped_bytes, resident_bytes

A = TypeVar("A")
B = TypeVar("B")

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


class Children:
    """A pool of child processes, safe to use from many threads."""

    def __init__(self) -> None:
        self._context = multiprocessing.get_context("forkserver")
        self._idle: list[_Child] = []
        self._lock = threading.Lock()

    def preload(self, modules: Iterable[str]) -> None:
        """Name modules that a template process imports once, so that a new child starts in milliseconds."""
        self._context.set_forkserver_preload(sorted(modules))

    def call(self, function: Callable[..., B], *arguments: Any) -> B:  # noqa: ANN401
        """Run ``function(*arguments)`` in a child and return its result; its exceptions are raised here."""
        child = self._take()
        try:
            child.send(function, arguments, 0)
            result = child.receive()
        except BaseException:
            child.kill()
            raise
        self._give_back(child)
        if isinstance(result, _Raised):
            raise result.error
        return result  # type: ignore[no-any-return]

    def map(self, function: Callable[[A], B], items: Iterable[A], limits: Limits) -> Iterator[B | Lost]:
        """Yield ``function(item)`` or a :class:`Lost` for each item, in order."""
        child = self._take()
        try:
            for item in items:
                outcome = child.run(function, item, limits)
                if isinstance(outcome, Lost):
                    was_new, child = child.served == 1, self._replaced(child)
                    if outcome.reason != "timeout" and not was_new:
                        outcome = child.run(function, item, limits)
                        child = self._replaced(child) if isinstance(outcome, Lost) else child
                elif child.is_worn(limits):
                    child = self._replaced(child)
                yield outcome
        except BaseException:
            child.kill()
            raise
        self._give_back(child)

    def close(self) -> None:
        """End all idle children."""
        with self._lock:
            while self._idle:
                self._idle.pop().kill()

    def _take(self) -> "_Child":
        with self._lock:
            while self._idle:
                child = self._idle.pop()
                if child.alive():
                    return child
        return self._new()

    def _new(self) -> "_Child":
        return _Child(self._context)

    def _replaced(self, child: "_Child") -> "_Child":
        child.kill()
        return self._new()

    def _give_back(self, child: "_Child") -> None:
        with self._lock:
            self._idle.append(child)


@dataclass(frozen=True, slots=True)
class _Raised:
    error: BaseException


class _Child:
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
        return bool(self._process.is_alive())

    def is_worn(self, limits: Limits) -> bool:
        """Tell whether it has served, or grown, enough to be replaced."""
        return self.served >= limits.items_per_child or resident_bytes(self._process.pid) > limits.resident_bytes

    def send(self, function: Callable[..., Any], arguments: tuple[Any, ...], memory_bytes: int) -> None:
        self.served += 1
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # receive() finds out why
            self._pipe.send((function, arguments, memory_bytes))

    def receive(self) -> Any:  # noqa: ANN401
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
        if isinstance(result, _Raised):
            if isinstance(result.error, MemoryError):
                return Lost("memory", "", f"{limits.memory_bytes} bytes")
            raise result.error
        return result

    def kill(self) -> None:
        self._process.kill()
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
            result = _Raised(_portable(error))
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


CHILDREN = Children()
"""The pool of this process."""
