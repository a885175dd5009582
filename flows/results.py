"""What the flows return, and what the summary at the end of a command is made from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tasks.core.manifest import Manifest


@dataclass(frozen=True, slots=True)
class RefreshResult:
    """A data version. ``reused``: it was there already; ``alarms``: what a person should look at."""

    version: str
    fingerprint: str
    reused: bool
    manifest: Manifest
    mlflow_run_id: str
    alarms: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class PretrainResult:
    """A finished run. ``evaluations`` are rows with step, source, loss and bits_per_byte, in the order of steps."""

    run_id: str
    data_version: str
    reused: bool
    attempt: int
    first_loss: float
    last_loss: float
    final_step: int
    checkpoint_path: str
    evaluations: Sequence[Mapping[str, Any]]
    mlflow_run_id: str
    num_parameters: int
    tokens_seen: int


@dataclass(frozen=True, slots=True)
class PipelineResult:
    """Both halves, and the wall seconds that each took."""

    refresh: RefreshResult
    pretrain: PretrainResult
    seconds: Mapping[str, float]
