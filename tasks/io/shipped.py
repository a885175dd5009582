"""How far a run folder has been sent to a tracking server: ``shipped.json``, written whole after each part.

A stale or lost position costs a replay, which changes nothing on the server; so nothing is flushed to the disk here.
"""

import json
from pathlib import Path
from typing import Any

_NAME = "shipped.json"
_NOTHING: dict[str, Any] = {
    "tracking_uri": "",
    "mlflow_run_id": "",
    "experiment_id": "",
    "status": "",
    "metrics_bytes": 0,
    "evaluations_bytes": 0,
    "models": {},
    "evaluations": {},
}


class Shipped:
    """The position of one run folder at one tracking server."""

    def __init__(self, folder: Path, tracking_uri: str) -> None:
        self._folder = folder
        self._values = {**_NOTHING, "tracking_uri": tracking_uri}
        try:
            values = json.loads((folder / _NAME).read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return
        if values.get("tracking_uri") == tracking_uri:
            self._values.update(values)

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - JSON
        return self._values[name]

    def keep(self, **changes: Any) -> None:  # noqa: ANN401
        """Change values, and write them all."""
        self._values.update(changes)
        temporary = self._folder / f".{_NAME}.new"
        temporary.write_text(json.dumps(self._values), encoding="utf-8")
        temporary.replace(self._folder / _NAME)

    def restart(self, mlflow_run_id: str) -> None:
        """Begin again from nothing with a new run."""
        self.keep(**{**_NOTHING, "tracking_uri": self["tracking_uri"], "mlflow_run_id": mlflow_run_id})
