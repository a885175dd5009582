"""What can go wrong for a user, each with where, what and what to do.

    PipelineError
     ├── InputError      missing file, empty source, unreadable input
     ├── MixError        weights ask for more than exists
     ├── StoreError      the store is full, unreachable or not writable
     ├── StaleOutputError an output made by other settings stands in the way
     └── LaunchError     training could not start, died, or was stopped

Everything else that escapes is a bug and keeps its traceback.
"""


class PipelineError(Exception):
    """A fault that the user can mend; ``str()`` is ready to be shown."""

    def __init__(self, where: str, problem: str, fix: str) -> None:
        super().__init__(where, problem, fix)
        self.where = where
        self.problem = problem
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.where}: {self.problem}; {self.fix}"


class InputError(PipelineError):
    """An input is missing, empty or unreadable."""


class MixError(PipelineError):
    """The mix asks for what does not exist."""


class StoreError(PipelineError):
    """The store cannot be read or written."""


class StaleOutputError(PipelineError):
    """An output exists that was made by other settings."""


class LaunchError(PipelineError):
    """A training or evaluation process could not start, died, or was stopped."""
