"""The parent side of rendering: modules in batches, each batch in a killable child process (see ``pydoc_child.py``).

A module that hangs, crashes or ends its process costs itself only; the rest of its batch goes on in a new child.
The limit is CPU time, so that a loaded machine gives the same pages as an idle one; a child that waits without
using CPU is ended after four times the limit on the wall. Children get an environment and a home of their own.
"""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

_CHILD = Path(__file__).with_name("pydoc_child.py")
_WALL_PER_CPU = 4


@dataclass(frozen=True, slots=True)
class Rendered:
    """A module's page body and the first line of its docstring, or why there is none."""

    module: str
    html: str = ""
    summary: str = ""
    skipped: str = ""


def render(
    batches: Iterable[Sequence[str]], cpu_seconds: float, processes: int, folders: Sequence[str] = ()
) -> Generator[list[Rendered], None, None]:
    """Render each batch of modules in a child of its own (in order; a death costs its module).

    Args:
        batches: module names; what a batch holds decides what its modules can see of each other.
        cpu_seconds: limit per module.
        processes: how many children at a time.
        folders: where to look for modules before the environment's own folders.
    """
    with tempfile.TemporaryDirectory() as home, ThreadPoolExecutor(max(1, processes)) as threads:
        yield from threads.map(lambda batch: _render_batch(batch, cpu_seconds, home, folders), batches)


def _render_batch(modules: Sequence[str], cpu_seconds: float, home: str, folders: Sequence[str]) -> list[Rendered]:
    results: list[Rendered] = []
    while len(results) < len(modules):
        with _child(home, folders) as child:
            try:
                for module in modules[len(results) :]:
                    results.append(_ask(child, module, cpu_seconds))
                    if results[-1].skipped.startswith("ended"):
                        break
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)
    return [_neutral(result, home) for result in results]


def _ask(child: "subprocess.Popen[str]", module: str, cpu_seconds: float) -> Rendered:
    assert child.stdin is not None  # noqa: S101 - both are pipes
    assert child.stdout is not None  # noqa: S101
    try:
        os.write(child.stdin.fileno(), (json.dumps([module, cpu_seconds]) + "\n").encode())
    except BrokenPipeError:
        return Rendered(module, skipped="ended: the process could not start")
    ready, _, _ = select.select([child.stdout], [], [], _WALL_PER_CPU * cpu_seconds)
    if not ready:
        return Rendered(module, skipped=f"ended: no answer in {_WALL_PER_CPU * cpu_seconds:g} s")
    line = child.stdout.readline()
    if not line.endswith("\n"):
        return Rendered(module, skipped=_death(child.pid, cpu_seconds))
    answer = json.loads(line)
    if "error" in answer:
        return Rendered(module, skipped=f"import failed: {answer['error']}")
    return Rendered(module, answer["html"], answer["summary"])


def _death(pid: int, cpu_seconds: float) -> str:
    """Say how a child ended, and leave it to be reaped after its process group."""
    end = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    if end is None or end.si_code == os.CLD_EXITED:
        return f"ended: exit code {end.si_status if end else 0}"
    if end.si_status == signal.SIGPROF:
        return f"ended: used more than {cpu_seconds:g} CPU s"
    return f"ended: signal {end.si_status}"


def _child(home: str, folders: Sequence[str]) -> "subprocess.Popen[str]":
    """Start a child with an environment of its own: nothing of the user's can get into a page."""
    environment = {
        **{"PATH": os.defpath, "HOME": home, "TMPDIR": home, "LANG": "C.UTF-8", "TZ": "UTC", "PYTHONHASHSEED": "0"},
        **{"PYTHONDONTWRITEBYTECODE": "1", "MPLBACKEND": "Agg", "MPLCONFIGDIR": home, "CUDA_VISIBLE_DEVICES": ""},
        **{"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "DO_NOT_TRACK": "1"},
        "PYTHONPATH": os.pathsep.join(folders),
        **{name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ},
    }
    return subprocess.Popen(
        [sys.executable, "-P", "-s", "-X", "utf8", str(_CHILD)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=home,
        env=environment,
        encoding="utf-8",
        start_new_session=True,
    )


def _neutral(result: Rendered, home: str) -> Rendered:
    return Rendered(result.module, result.html.replace(home, "/home/user"), result.summary, result.skipped)
