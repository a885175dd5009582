"""How far a flow is, for whoever watches: bars on a terminal, lines in a file, nothing under a Prefect worker.

Flows say ``with reporter().stage("extract", 12) as stage: stage.advance(1)`` and never know who listens. The command
line chooses with :func:`reporting`; the default listens to nobody.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

_NOTE_SECONDS = 10.0


class Stage:
    """One stage in progress; this one is watched by nobody."""

    def advance(self, number: int = 1) -> None:
        """Say that ``number`` more of the total are done."""

    def note(self, text: str) -> None:
        """Say something that will soon be replaced by something newer, such as the current loss."""


class Reporter:
    """Who hears of stages; this one hears nothing."""

    @contextmanager
    def stage(self, label: str, total: int) -> Iterator[Stage]:
        """Begin a stage of ``total`` parts (0: not known); it ends with the block."""
        yield Stage()

    def note(self, text: str) -> None:
        """Say something that should stay."""


class LineReporter(Reporter):
    """One line when a stage starts, one when it ends, and now and then how far it is: for logs and files."""

    def __init__(self, console: Console) -> None:
        self._console = console

    @contextmanager
    def stage(self, label: str, total: int) -> Iterator[Stage]:
        """Print the start and the end of a stage."""
        self.note(f"{label}: {total:,} to do" if total else f"{label}: started")
        stage = _LineStage(self, label, total)
        yield stage
        self.note(f"{label}: done in {stage.seconds:.1f} s{f' ({stage.text})' if stage.text else ''}")

    def note(self, text: str) -> None:
        """Print a line."""
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)


class _LineStage(Stage):
    def __init__(self, reporter: LineReporter, label: str, total: int) -> None:
        self.text = ""
        self._reporter = reporter
        self._label = label
        self._total = total
        self._done = 0
        self._began = self._told = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    def advance(self, number: int = 1) -> None:
        self._done += number
        if not self.text:
            self._tell()

    def note(self, text: str) -> None:
        self.text = text
        self._tell()

    def _tell(self) -> None:
        if time.monotonic() - self._told >= _NOTE_SECONDS and self._done != self._total:
            self._told = time.monotonic()
            of_total = f" of {self._total:,}" if self._total else ""
            self._reporter.note(f"{self._label}: {self._done:,}{of_total}{f' ({self.text})' if self.text else ''}")


class BarReporter(Reporter):
    """A bar per stage on a terminal."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    @contextmanager
    def stage(self, label: str, total: int) -> Iterator[Stage]:
        """Show a bar; it stays, filled, when the stage is over."""
        task = self._progress.add_task(label, total=total or None, text="")
        stage = _BarStage(self._progress, task)
        yield stage
        done = self._progress.tasks[self._progress.task_ids.index(task)].completed
        self._progress.update(task, total=total or max(done, 1), completed=total or max(done, 1))
        self._progress.stop_task(task)

    def note(self, text: str) -> None:
        """Print a line above the bars."""
        self._progress.console.print(text, markup=False, highlight=False)


class _BarStage(Stage):
    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress = progress
        self._task = task

    def advance(self, number: int = 1) -> None:
        self._progress.advance(self._task, number)

    def note(self, text: str) -> None:
        self._progress.update(self._task, text=text)


_current = Reporter()


def reporter() -> Reporter:
    """Return who listens now."""
    return _current


@contextmanager
def reporting(console: Console) -> Iterator[Reporter]:
    """Let ``console`` show progress during the block: bars if it is a terminal, else lines."""
    global _current
    before = _current
    try:
        if console.is_terminal:
            columns = (
                TextColumn("{task.description:<12}"), BarColumn(30), MofNCompleteColumn(), TimeElapsedColumn(),
                TextColumn("{task.fields[text]}"),
            )  # fmt: skip
            with Progress(*columns, console=console) as progress:
                _current = BarReporter(progress)
                yield _current
        else:
            _current = LineReporter(console)
            yield _current
    finally:
        _current = before
