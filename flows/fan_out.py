"""Submit a task for many inputs, wait for all, and show how far it is."""

from collections.abc import Sequence
from typing import TypeVar

from prefect.futures import PrefectFuture, as_completed

from flows.progress import reporter

T = TypeVar("T")


def gather(label: str, futures: Sequence[PrefectFuture[T]]) -> list[T]:
    """Wait for all futures, moving the progress bar ``label``; return their results in the order submitted."""
    with reporter().stage(label, len(futures)) as progress:
        for _ in as_completed(list(futures)):
            progress.advance(1)
    return [future.result() for future in futures]
