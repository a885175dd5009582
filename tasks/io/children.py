"""Killable child processes: work that may hang or explode costs its own limit, never the worker.

:meth:`Children.call` runs a whole function in a child. :meth:`Children.map` runs a function over items one by
one with a CPU-time limit per item; an item that breaks the limit, or kills its child, becomes a
:class:`Lost` with its reason, and a new child goes on with the next item. Limits are in CPU seconds of
the child, so that a loaded machine gives the same results as an idle one. A child that
sleeps without using CPU is ended after 20 times the limit on the wall. Children are reused, and replaced after a
number of items (extractors leak). They end with the process that owns them.
"""

import contextlib
import multiprocessing
import os
import resource
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from tasks.core.errors import PipelineError

A = TypeVar("A")
B = TypeVar("B")

_POLL_SECONDS = 0.2
_TICKS = os.sysconf("SC_CLK_TCK")
_WALL_PER_CPU = 20


@dataclass(frozen=True, slots=True)
class Limits:
    """Per item: CPU seconds and bytes of address space; per child: items before it is replaced."""

    cpu_seconds: float = 30.0
    memory_bytes: int = 4 << 30
    items_per_child: int = 2000


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
        served = 0
        try:
            for item in items:
                child.send(function, (item,), limits.memory_bytes)
                outcome = child.outcome(limits)
                served += 1
                if isinstance(outcome, Lost) or served >= limits.items_per_child:
                    child.kill()
                    child, served = self._new(), 0
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

    def _give_back(self, child: "_Child") -> None:
        with self._lock:
            self._idle.append(child)


@dataclass(frozen=True, slots=True)
class _Raised:
    error: BaseException


class _Child:
    def __init__(self, context: Any) -> None:  # noqa: ANN401 - multiprocessing's contexts share no public base
        self._pipe, inside = context.Pipe()
        self._process = context.Process(target=_serve, args=(inside,), daemon=True)
        self._process.start()
        inside.close()

    def alive(self) -> bool:
        return bool(self._process.is_alive())

    def send(self, function: Callable[..., Any], arguments: tuple[Any, ...], memory_bytes: int) -> None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # receive() finds out why
            self._pipe.send((function, arguments, memory_bytes))

    def receive(self) -> Any:  # noqa: ANN401
        try:
            return self._pipe.recv()
        except (EOFError, ConnectionResetError):
            raise PipelineError(
                "child process", f"died ({self._death()})", "free memory or use fewer workers, then start again"
            ) from None

    def outcome(self, limits: Limits) -> Any:  # noqa: ANN401
        """Wait for the next result, or find out that there will be none."""
        began, wall = _cpu_seconds(self._process.pid), time.monotonic()
        while not self._pipe.poll(_POLL_SECONDS):
            used = _cpu_seconds(self._process.pid) - began
            if used > limits.cpu_seconds or time.monotonic() - wall > _WALL_PER_CPU * limits.cpu_seconds:
                self.kill()
                return Lost("timeout", f"{limits.cpu_seconds:g} CPU s", f"{limits.cpu_seconds:g} CPU s")
        try:
            result = self._pipe.recv()
        except (EOFError, ConnectionResetError):
            return Lost("crash", self._death(), "")
        if isinstance(result, _Raised):
            if isinstance(result.error, MemoryError):
                return Lost("memory", "", f"{limits.memory_bytes} bytes")
            self.kill()
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
    while True:
        try:
            function, arguments, memory_bytes = pipe.recv()
        except (EOFError, ConnectionResetError):
            return
        if memory_bytes:
            resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, resource.RLIM_INFINITY))
        try:
            result = function(*arguments)
        except BaseException as error:  # noqa: BLE001 - carried to the caller and raised there
            result = _Raised(error)
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        try:
            pipe.send(result)
        except (BrokenPipeError, ConnectionResetError):
            return


def _cpu_seconds(pid: int | None) -> float:
    """User and system CPU seconds of a process so far (0 when it is gone)."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICKS


CHILDREN = Children()
"""The pool of this process."""
