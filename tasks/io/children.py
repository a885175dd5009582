"""Killable child processes: work that may hang or explode costs its own limit, never the worker.

:meth:`Children.call` runs a whole function in a child. :meth:`Children.map` runs a function over items with limits
for each; an item that breaks one, or kills its child, becomes a :class:`Lost`, and a new child goes on with the next.
Time is the child's CPU seconds, and memory what it maps beyond what it had before the item, so a loaded machine or an
old child gives the results of an idle or new one; an item lost to memory or a crash is tried again in a new child. A
child that sleeps is ended after 20 times the limit on the wall. Children are reused, and replaced after a number of
items or when they have grown (extractors leak). They end with the process that owns them, even when it is killed.
"""

import multiprocessing
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from tasks.core.errors import PipelineError
from tasks.io.child import Child, Limits, Lost, Raised

A = TypeVar("A")
B = TypeVar("B")


class Children:
    """A pool of child processes, safe to use from many threads."""

    def __init__(self) -> None:
        self._context = multiprocessing.get_context("forkserver")
        self._idle: list[Child] = []
        self._busy: set[Child] = set()
        self._num_aborts = 0
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
            self._lose(child)
            raise
        self._give_back(child)
        if isinstance(result, Raised):
            raise result.error
        return result  # type: ignore[no-any-return]

    def map(self, function: Callable[[A], B], items: Iterable[A], limits: Limits) -> Iterator[B | Lost]:
        """Yield ``function(item)`` or a :class:`Lost` for each item, in order."""
        aborts = self._num_aborts
        child = self._take()
        try:
            for item in items:
                outcome = child.run(function, item, limits)
                if self._num_aborts != aborts:  # ended by abort(), which says nothing about the item
                    raise PipelineError(
                        "child process", "was ended with its flow", "start again: finished work is kept"
                    )
                if isinstance(outcome, Lost):
                    was_new, child = child.served == 1, self._replaced(child)
                    if outcome.reason != "timeout" and not was_new:
                        outcome = child.run(function, item, limits)
                        child = self._replaced(child) if isinstance(outcome, Lost) else child
                elif child.is_worn(limits):
                    child = self._replaced(child)
                yield outcome
        except BaseException:
            self._lose(child)
            raise
        self._give_back(child)

    def close(self) -> None:
        """End all idle children."""
        with self._lock:
            while self._idle:
                self._idle.pop().kill()

    def abort(self) -> None:
        """End all children, at work or not; whoever waits for one gets a PipelineError."""
        with self._lock:
            self._num_aborts += 1
            for child in self._busy:
                child.end()
        self.close()

    def _take(self) -> "Child":
        with self._lock:
            while self._idle:
                child = self._idle.pop()
                if child.alive():
                    self._busy.add(child)
                    return child
        return self._new()

    def _new(self) -> "Child":
        child = Child(self._context)
        with self._lock:
            self._busy.add(child)
        return child

    def _replaced(self, child: "Child") -> "Child":
        self._lose(child)
        return self._new()

    def _lose(self, child: "Child") -> None:
        with self._lock:
            self._busy.discard(child)
        child.kill()

    def _give_back(self, child: "Child") -> None:
        with self._lock:
            self._busy.discard(child)
            self._idle.append(child)


CHILDREN = Children()
"""The pool of this process."""
