"""Submit a task for many inputs, wait for all, and show how far it is."""

from collections.abc import Sequence
from typing import TypeVar

from prefect import get_run_logger
from prefect.futures import PrefectFuture, as_completed

from flows.funnel import reasons_text
from flows.progress import reporter
from tasks.core.counts import Counts
from tasks.io.documents import StageOutput

T = TypeVar("T")


def gather(label: str, futures: Sequence[PrefectFuture[T]]) -> list[T]:
    """Wait for all futures, moving the progress bar ``label``; return their results in the order submitted."""
    with reporter().stage(label, len(futures)) as progress:
        for _ in as_completed(list(futures)):
            progress.advance(1)
    results = [future.result() for future in futures]
    counts = [result.counts for result in results if isinstance(result, StageOutput)]
    if counts:
        total = Counts.total(counts)
        found = sum(isinstance(result, StageOutput) and result.reused for result in results)
        get_run_logger().info(
            "%s: %d documents seen, %d kept, %d dropped (%s); %d of %d inputs were done before",
            label, total.seen, total.kept, total.seen - total.kept, reasons_text(total) or "none", found, len(results),
        )  # fmt: skip
    return results
