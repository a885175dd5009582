"""Shared by all tests: no telemetry, no network names, an environment that is the test's own."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

for _name, _value in {
    "DO_NOT_TRACK": "true",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "HF_HUB_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "OMP_WAIT_POLICY": "PASSIVE",
}.items():
    os.environ[_name] = _value
for _name in ("GLASSWORKS_STORE", "PREFECT_API_URL", "MLFLOW_TRACKING_URI"):
    os.environ.pop(_name, None)

SHARED = Path(__file__).parents[2] / "shared"


@pytest.fixture
def shared() -> Path:
    """The folder of real pages and cases beside the checkout; tests that need it skip when it is absent."""
    if not SHARED.is_dir():
        pytest.skip("no shared folder beside the checkout")
    return SHARED


@pytest.fixture
def in_folder(tmp_path: Path) -> Iterator[Path]:
    """Work in an empty folder."""
    before = Path.cwd()
    os.chdir(tmp_path)
    yield tmp_path
    os.chdir(before)
