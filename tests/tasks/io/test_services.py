"""Local servers: shared by the commands on one store, gone with them, and clear when they cannot start."""

import contextlib
import http.server
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tasks.core.errors import LaunchError
from tasks.io import services
from tasks.io.services import LocalServices

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Undo what the tests set."""
    for name in [*services._QUIET, "PREFECT_HOME", "PREFECT_API_URL", "MLFLOW_TRACKING_URI", "no_proxy", "NO_PROXY"]:
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    monkeypatch.setenv("PREFECT_SERVER_ANALYTICS_ENABLED", "false")


def processes_of(folder: Path) -> list[int]:
    """Return the processes that were started for a folder's servers."""
    mark = f"GLASSWORKS_SERVER_OF={folder}".encode()
    found = []
    for entry in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if mark in entry.read_bytes():
                found.append(int(entry.parent.name))
    return found


def gone(folder: Path, seconds: float = 15) -> bool:
    end = time.monotonic() + seconds
    while processes_of(folder) and time.monotonic() < end:
        time.sleep(0.1)
    return not processes_of(folder)


def test_the_environment_is_set_only_where_the_user_has_set_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://tracking.example")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example")
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.example")
    LocalServices(tmp_path).environment()
    assert os.environ["MLFLOW_TRACKING_URI"] == "http://tracking.example"
    assert os.environ["PREFECT_HOME"] == str(tmp_path / "prefect")
    assert os.environ["DO_NOT_TRACK"] == "true"  # MLflow does not take 1
    assert os.environ["PREFECT_SERVER_ANALYTICS_ENABLED"] == "false"
    assert "127.0.0.1" in os.environ["NO_PROXY"].split(",")


def test_servers_of_the_user_are_used_and_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFECT_API_URL", "http://prefect.example/api")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://mlflow.example/")
    with LocalServices(tmp_path).prefect_server() as prefect, LocalServices(tmp_path).mlflow_server() as mlflow:
        assert (prefect, mlflow) == ("http://prefect.example", "http://mlflow.example")
    assert os.environ["PREFECT_API_URL"] == "http://prefect.example/api"
    assert list(tmp_path.iterdir()) == []


def test_prefect_starts_is_shared_and_outlives_neither_its_users_nor_kill_nine(tmp_path: Path) -> None:
    folder = tmp_path / "prefect"
    script = (
        "import sys; from pathlib import Path; from tasks.io.services import LocalServices\n"
        "with LocalServices(Path(sys.argv[1])).prefect_server() as url:\n"
        "    print(url, flush=True); sys.stdin.read()\n"
    )
    owner = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)], cwd=ROOT, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert owner.stdout is not None
    url = owner.stdout.readline().strip()
    notes: list[str] = []
    try:
        assert url.startswith("http://127.0.0.1:")
        with LocalServices(tmp_path, notes.append).prefect_server() as shared:
            assert shared == url
            assert os.environ["PREFECT_API_URL"] == f"{url}/api"
            assert owner.stdin is not None
            owner.stdin.close()  # its block ends, but it is not alone
            time.sleep(1)
            assert owner.poll() is None
            assert processes_of(folder)
        assert "PREFECT_API_URL" not in os.environ
        assert owner.wait(30) == 0
        assert gone(folder)
        assert notes == []
    finally:
        owner.kill()
        owner.wait()
        owner.stdout.close()


def guarded(tmp_path: Path, command: str) -> tuple[subprocess.Popen[bytes], int]:
    """Start a process that guards ``sh -c command``; return it and the pid which the command writes."""
    pid_file = tmp_path / "pid"
    script = (
        "import os, subprocess, sys; from tasks.io.services import _GUARD\n"
        "guard = [sys.executable, '-I', '-S', str(_GUARD), str(os.getpid()), '1']\n"
        "subprocess.run([*guard, 'sh', '-c', sys.argv[1]], check=False)\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", script, f"echo $$ > {pid_file}.new; mv {pid_file}.new {pid_file}; {command}"], cwd=ROOT
    )
    while not pid_file.exists():
        assert parent.poll() is None
        time.sleep(0.02)
    return parent, int(pid_file.read_text())


def dead(pid: int, seconds: float = 10) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("command", ["sleep 60; true", "trap '' TERM; while true; do sleep 0.1; done"])
def test_a_guarded_group_ends_when_its_parent_is_killed(tmp_path: Path, command: str) -> None:
    parent, pid = guarded(tmp_path, command)
    parent.kill()
    parent.wait()
    assert dead(pid)


def test_a_guarded_group_ends_with_its_guard(tmp_path: Path) -> None:
    parent, pid = guarded(tmp_path, "sleep 60; true")
    guard = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(guard, signal.SIGKILL)
    assert dead(pid)
    parent.wait()


def test_a_server_that_cannot_start_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFECT_SERVER_DATABASE_CONNECTION_URL", "nonsense://x")
    with pytest.raises(LaunchError, match="ended with exit code") as caught, LocalServices(tmp_path).prefect_server():
        pass
    assert "server.log" in caught.value.fix
    assert len(caught.value.problem.splitlines()) > 1
    assert gone(tmp_path / "prefect")


@pytest.fixture
def stranger() -> Iterator[int]:
    """A healthy server that is none of ours; gives its port."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Be quiet."""

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def test_a_stranger_on_the_recorded_port_is_not_taken_for_ours(tmp_path: Path, stranger: int) -> None:
    record = f'{{"pid": {os.getpid()}, "port": {stranger}}}'
    (tmp_path / "server.json").write_text(record)
    service = services._Service("Prefect", tmp_path, stranger, "/api/health", lambda port: [])
    assert services._healthy(stranger, service.health)
    assert services._found(service) == 0
    assert services._free_port(stranger) not in {0, stranger}
