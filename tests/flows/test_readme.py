"""The README's commands, run as written, in a store of their own (only the sizes are smaller than the defaults)."""

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SMALLER = {
    "refresh": ("mix.num_tokens=200000", "tokenizer.vocab_size=1024", "pack.sequence_length=128"),
    "pretrain": ("train.max_steps=16", "train.model.size=tiny", "train.save_steps=8", "train.schedule.warmup_steps=2"),
}
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def console_commands() -> Iterator[list[str]]:
    """Yield the arguments of every ``$ glassworks …`` line."""
    for block in re.findall(r"```console\n(.*?)```", README, re.DOTALL):
        for line in block.splitlines():
            assert line.startswith("$ glassworks "), line
            yield shlex.split(line, comments=True)[2:]


def smaller(arguments: list[str]) -> list[str]:
    """Add the settings that make a command small."""
    command = arguments[0]
    changes = list(SMALLER.get(command, ()))
    if command == "pipeline":
        changes = [f"{part}.{setting}" for part, settings in SMALLER.items() for setting in settings]
    return [*arguments, *(part for change in changes for part in ("--set", change))]


def test_every_command_of_the_readme_works(services: dict[str, str], tmp_path: Path) -> None:
    environment = {**services, "GLASSWORKS_STORE": str(tmp_path / "store"), "COLUMNS": "200"}
    run_id = ""
    seen = set()
    for arguments in console_commands():
        command = [run_id if part == "RUN" else part for part in arguments]
        if arguments[0] == "ui":
            _ui_comes_up_and_goes(environment, tmp_path)
            continue
        if "/data/crawl/*.warc.gz" in " ".join(command):
            web = tmp_path / "store" / "crawl" / "web"
            command = [part.replace("/data/crawl/*.warc.gz", f"{web}/web-00000.warc.gz") for part in command]
            command += ["--set", "mix.validation_share=0.1", "--set", "tokenizer.vocab_size=1024"]
        done = subprocess.run(
            [sys.executable, "-m", "flows", *(smaller(command) if "warc" not in command else command)],
            env=environment, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=800,
        )  # fmt: skip
        assert "@@" not in README
        assert done.returncode == 0, f"{command}: {done.stdout[-1500:]}{done.stderr[-1500:]}"
        seen.add(command[0])
        if command[0] == "runs":
            found = re.search(r"\bdemo-[0-9a-f]{12}\b", done.stdout)
            assert found, done.stdout
            run_id = found.group()
        if command[0] == "trace":
            assert "documents" in done.stdout
    assert seen >= {"crawl", "refresh", "pretrain", "pipeline", "versions", "runs", "config", "trace", "evaluate"}
    _a_checkpoint_loads_as_the_readme_says(tmp_path, run_id)


def _ui_comes_up_and_goes(environment: dict[str, str], folder: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "flows", "ui"], env=environment, cwd=folder, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    shown = []
    end = time.monotonic() + 120
    for line in process.stdout:
        shown.append(line)
        if "Ctrl-C" in line or time.monotonic() > end:
            break
    os.kill(process.pid, signal.SIGINT)
    process.stdout.close()
    assert process.wait(60) in (0, 130)
    assert re.search(r"Prefect +http://127\.0\.0\.1:\d+", "".join(shown))
    assert re.search(r"MLflow +http://127\.0\.0\.1:\d+", "".join(shown))


def _a_checkpoint_loads_as_the_readme_says(folder: Path, run_id: str) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    code = code.replace("RUN", run_id).replace("step-00000120", "step-00000016")
    check = "assert model.config.vocab_size == len(tokenizer)\n"
    done = subprocess.run(
        [sys.executable, "-c", code + check], cwd=folder, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr


def test_the_two_commands_of_a_newcomer_are_named_and_checks_run_the_tests_through_the_same_one() -> None:
    assert "\nmake demo\n" in README
    assert "`make test`" in README
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    check = makefile.partition("\ncheck: ")[2].partition("\n\n")[0]
    assert check.rstrip().endswith("$(MAKE) test")
    assert (ROOT / ".ci" / "run").read_text(encoding="utf-8").rstrip().endswith("make check")


def test_the_map_names_every_folder_of_code() -> None:
    for folder in ("flows", "tasks", "models", "configs", "tests"):
        assert f"| `{folder}/` |" in README
