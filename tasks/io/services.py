"""The servers of one machine: Prefect and MLflow for one store, on 127.0.0.1, started and stopped with the command.

Property: nothing stays running behind a command, even when it is killed (see :mod:`tasks.io.server_guard`);
commands on the same store share one server, and the one that started it waits for the others; what the user has
set in the environment wins. Nothing here is imported from Prefect or MLflow, because their settings are read
when they are imported. Cost: 3 to 9 s to start Prefect, 5 to 12 s for MLflow, and 250 and 490 MiB of memory.
"""

import contextlib
import fcntl
import http.client
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tasks.core.errors import LaunchError

_HOST = "127.0.0.1"
_GUARD = Path(__file__).with_name("server_guard.py")
_GRACE_SECONDS = 10.0
_START_SECONDS = 120.0
_MARK = "GLASSWORKS_SERVER_OF"
_QUIET = {
    "DO_NOT_TRACK": "true",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
    "MLFLOW_LOGGING_LEVEL": "WARNING",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    # A tracking server that is away must cost seconds; the record is local, and is shipped again.
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
}

Notify = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class _Service:
    """How to run one server: its folder, wanted port, path of its health check, and the command for a port."""

    name: str
    folder: Path
    port: int
    health: str
    command: Callable[[int], list[str]]


class LocalServices:
    """Prefect and MLflow below the folder ``root`` of a local store; use it from the main thread."""

    def __init__(self, root: Path, notify: Notify = lambda _: None) -> None:
        self.root = root.resolve()
        self._notify = notify

    def environment(self, *, verbose: bool = False) -> None:
        """Set what Prefect and MLflow read when they are imported, where the user has set nothing."""
        defaults = {
            **_QUIET,
            "PREFECT_HOME": str(self.root / "prefect"),
            "MLFLOW_TRACKING_URI": f"sqlite:///{self.root / 'mlflow.db'}",
            # Prefect's console only; its API, and so the UI, still gets every INFO line.
            "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "INFO" if verbose else "CRITICAL",
        }
        for name, value in defaults.items():
            os.environ.setdefault(name, value)
        if any(name in os.environ for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")):
            direct = os.environ.get("NO_PROXY") or os.environ.get("no_proxy") or ""
            os.environ["NO_PROXY"] = os.environ["no_proxy"] = f"{direct},{_HOST},localhost".lstrip(",")

    @contextlib.contextmanager
    def prefect_server(self, port: int = 4200) -> Iterator[str]:
        """Give a Prefect API for the block: the user's (PREFECT_API_URL), a running one of this store, or a new one.

        Yields:
            The address of the UI.

        Raises:
            LaunchError: the server ended or did not answer in time; its last lines are shown.
        """
        if given := os.environ.get("PREFECT_API_URL"):
            yield given.removesuffix("/").removesuffix("/api")
            return
        command = [sys.executable, "-m", "prefect", "server", "start", "--host", _HOST, "--port"]
        folder = Path(os.environ.get("PREFECT_HOME") or self.root / "prefect").resolve()
        service = _Service("Prefect", folder, port, "/api/health", lambda number: [*command, str(number)])
        with _running(service, self._notify) as url:
            os.environ["PREFECT_API_URL"] = f"{url}/api"
            try:
                yield url
            finally:
                os.environ.pop("PREFECT_API_URL", None)

    @contextlib.contextmanager
    def mlflow_server(self, port: int = 5000) -> Iterator[str]:
        """Give an MLflow UI for the block: the user's (MLFLOW_TRACKING_URI), a running one of this store, or a new one.

        Yields:
            Its address.

        Raises:
            LaunchError: the server ended or did not answer in time; its last lines are shown.
        """
        tracking_uri = os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{self.root / 'mlflow.db'}"
        if tracking_uri.startswith("http"):
            yield tracking_uri.removesuffix("/")
            return
        command = [
            sys.executable, "-m", "mlflow", "server", "--workers", "1", "--host", _HOST,
            "--backend-store-uri", tracking_uri,
            "--artifacts-destination", str(self.root / "mlflow-artifacts"), "--port",
        ]  # fmt: skip
        service = _Service("MLflow", self.root / "mlflow", port, "/health", lambda number: [*command, str(number)])
        with _running(service, self._notify) as url:
            yield url


@contextlib.contextmanager
def _running(service: _Service, notify: Notify) -> Iterator[str]:
    """Use the server of this folder, starting it if needed; who started it stops it after its last user."""
    service.folder.mkdir(parents=True, exist_ok=True)
    with (service.folder / "server.users").open("ab") as users:
        fcntl.flock(users, fcntl.LOCK_SH)
        with (service.folder / "server.starting").open("ab") as starting:
            fcntl.flock(starting, fcntl.LOCK_EX)
            port = _found(service)
            process = None if port else _started(service, port := _free_port(service.port), notify)
        try:
            yield f"http://{_HOST}:{port}"
        finally:
            if process is not None:
                _stop(service, process, users.fileno(), notify)


def _found(service: _Service) -> int:
    """Return the port of a healthy server of this folder, or 0."""
    try:
        record = json.loads((service.folder / "server.json").read_text(encoding="utf-8"))
        environment = Path(f"/proc/{int(record['pid'])}/environ").read_bytes().split(b"\0")
    except (OSError, ValueError, KeyError):
        return 0  # none was started, or it has ended
    is_ours = f"{_MARK}={service.folder}".encode() in environment
    return int(record["port"]) if is_ours and _healthy(int(record["port"]), service.health) else 0


def _started(service: _Service, port: int, notify: Notify) -> subprocess.Popen[bytes]:
    notify(f"starting {service.name} on http://{_HOST}:{port}")
    log = service.folder / "server.log"
    command = [sys.executable, "-I", "-S", str(_GUARD), str(os.getpid()), str(_GRACE_SECONDS), *service.command(port)]
    with log.open("wb") as file:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=True,
            env={**os.environ, "PREFECT_HOME": str(service.folder), _MARK: str(service.folder)},
        )  # fmt: skip
    try:
        _wait_until_healthy(service, process, port, log)
    except BaseException:
        _end(process)
        raise
    record = json.dumps({"pid": process.pid, "port": port})
    (service.folder / "server.json").write_text(record, encoding="utf-8")
    return process


def _wait_until_healthy(service: _Service, process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    end = time.monotonic() + _START_SECONDS
    while not _healthy(port, service.health):
        if process.poll() is not None:
            problem = f"ended with exit code {process.returncode} before it answered"
        elif time.monotonic() > end:
            problem = f"did not answer on port {port} within {_START_SECONDS:g} s"
        else:
            time.sleep(0.1)
            continue
        lines = log.read_text(encoding="utf-8", errors="replace").split("\n")
        last = "\n".join(line for line in lines if line.strip())[-1500:]
        raise LaunchError(
            f"{service.name} server", f"{problem}; its last lines:\n{last}", f"see {log}, then start again"
        )


def _stop(service: _Service, process: subprocess.Popen[bytes], users: int, notify: Notify) -> None:
    """End the server once nobody else holds the lock on its users."""
    try:
        fcntl.flock(users, fcntl.LOCK_UN)
        try:
            fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            notify(f"another command still uses {service.name}; waiting for it (Ctrl-C stops the server now)")
            fcntl.flock(users, fcntl.LOCK_EX)
    finally:
        (service.folder / "server.json").unlink(missing_ok=True)
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_GRACE_SECONDS + 10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _free_port(wanted: int) -> int:
    """Return ``wanted`` if nobody listens there, else a port that the system chooses."""
    for port in (wanted, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((_HOST, port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise LaunchError(_HOST, "no free port", "close a program that listens there, then start again")


def _healthy(port: int, path: str) -> bool:
    connection = http.client.HTTPConnection(_HOST, port, timeout=2)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
