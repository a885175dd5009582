"""Where a flow's tasks run: threads of this process, which hand heavy work to child processes."""

import os
from typing import TYPE_CHECKING, Any

from pydantic import Field

from configs.base import Config

if TYPE_CHECKING:
    from prefect.futures import PrefectFuture
    from prefect.task_runners import TaskRunner


class ExecutionConfig(Config):
    """Where and how fast; nothing here changes a result."""

    workers: int = Field(0, ge=0, le=1024, description="Inputs worked on at once; 0: one per CPU core.")


def runner_for(execution: ExecutionConfig) -> "TaskRunner[PrefectFuture[Any]]":
    """Return Prefect's task runner for these settings."""
    from prefect.task_runners import ThreadPoolTaskRunner  # late: settings are read before Prefect may be imported

    runner: TaskRunner[Any] = ThreadPoolTaskRunner(max_workers=execution.workers or available_cores())
    return runner


def available_cores() -> int:
    """Return the cores that this process may use."""
    return len(os.sched_getaffinity(0))
