"""The command line as a user meets it: quick help, one-screen faults, and JSON that a program can read."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import orjson
import pytest
from rich.console import Console

from flows.progress import Reporter, reporter, reporting
from flows.results import PipelineResult, PretrainResult, RefreshResult
from flows.summary import pretrain_json, print_pipeline, refresh_json
from tasks.core.counts import Counts
from tasks.core.manifest import Manifest, MixRecord, ShardRecord, TokenizerRecord, ValidationRecord

ROOT = Path(__file__).parents[2]
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run a command in an empty folder with its own store, and return what it printed."""

    def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "MLFLOW_T"))}
        return subprocess.run(
            [sys.executable, "-m", "flows", *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            env={**clean, "PYTHONPATH": str(ROOT), "GLASSWORKS_STORE": str(tmp_path / "store"), **environment},
        )

    return run


def words(text: str) -> str:
    """Return a panel's text without its frame and line breaks."""
    return " ".join(re.sub("[│╭╮╰╯─]", " ", text).split())


def assert_one_screen(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) <= 24
    assert all(len(line) <= 80 for line in done.stderr.splitlines())


def test_importing_the_command_line_loads_no_framework() -> None:
    code = (
        "import time; began = time.perf_counter(); import flows.cli, sys\n"
        "heavy = {'prefect', 'mlflow', 'torch', 'pyarrow', 'pydantic', 'transformers', 'numpy', 'fsspec'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_help_names_every_command_and_the_version_is_the_project_s(run: Run) -> None:
    text = run("--help").stdout
    commands = "crawl refresh pretrain evaluate pipeline demo ui versions runs trace config".split()
    assert [name for name in commands if f" {name} " not in text] == []
    version = re.search(r'^version = "(.+)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert version is not None
    assert run("--version").stdout == f"glassworks {version[1]}\n"


def test_a_missing_config_file_is_told_with_the_presets_that_exist(run: Run, tmp_path: Path) -> None:
    done = run("refresh", "nowhere.yaml")
    assert_one_screen(done)
    assert "nowhere.yaml: no such config file" in words(done.stderr)
    assert "refresh/demo.yaml" in words(done.stderr)
    assert not (tmp_path / "store").exists()


def test_malformed_yaml_is_told_with_file_and_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("name: x\n  sources: [\n")
    done = run("refresh", "bad.yaml")
    assert_one_screen(done)
    assert "bad.yaml: not valid YAML" in words(done.stderr)
    assert "line 2" in words(done.stderr)


@pytest.mark.parametrize("command", ["refresh", "config"])
def test_an_unknown_key_is_told_with_the_keys_that_exist(run: Run, command: str) -> None:
    done = run(command, "refresh/demo", "--set", "nonsense=1")
    assert_one_screen(done)
    assert "nonsense: unknown setting; known here: name, sources," in words(done.stderr)


def test_a_run_that_does_not_exist_is_told_with_those_that_do(run: Run) -> None:
    done = run("trace", "nosuch", "--step", "1", "--json")
    assert_one_screen(done)
    assert "Where run nosuch What not in the store Do use one of: none yet" in words(done.stderr)


def test_a_wrong_option_is_a_usage_error(run: Run) -> None:
    done = run("trace", "x", "--step", "zero")
    assert done.returncode == 2
    assert "--step" in words(done.stderr)
    assert "Traceback" not in done.stderr


def test_an_empty_store_needs_no_server_and_is_not_made(run: Run, tmp_path: Path) -> None:
    for command in ("versions", "runs"):
        assert run(command, "--json").stdout == "[]\n"
        assert "glassworks demo" in run(command).stdout
    assert not (tmp_path / "store").exists()


def test_a_resolved_config_is_printed_whole_and_can_be_read_again(run: Run, tmp_path: Path) -> None:
    (tmp_path / "resolved.yaml").write_text(run("config", "refresh/demo", "--set", "mix.seed=7").stdout)
    first = json.loads(run("config", "refresh/demo", "--set", "mix.seed=7", "--json").stdout)
    assert first["mix"]["seed"] == 7
    assert json.loads(run("config", "resolved.yaml", "--json").stdout) == first


def test_a_missing_input_is_told_before_anything_is_done(run: Run, services: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("name: mine\nsources: [{name: web, inputs: [gone/*.warc.gz]}]\n")
    api = {"PREFECT_API_URL": services["PREFECT_API_URL"]}
    done = run("refresh", "mine.yaml", "--json", **api)
    assert_one_screen(done)
    assert "gone/*.warc.gz" in words(done.stderr)


def test_a_prefect_server_that_is_gone_is_told_with_its_address(run: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("name: mine\nsources: [{name: web, inputs: [gone/*.warc.gz]}]\n")
    done = run("refresh", "mine.yaml", PREFECT_API_URL="http://127.0.0.1:9/api")
    assert_one_screen(done)
    assert "Prefect at http://127.0.0.1:9 What does not answer" in words(done.stderr)


def test_nothing_but_json_reaches_standard_output() -> None:
    code = (
        "import os, subprocess; from flows.session import session\n"
        "with session(as_json=True) as here:\n"
        "    print('a library prints')\n"
        "    os.write(1, b'a C library prints')\n"
        "    subprocess.run(['echo', 'a child prints'])\n"
        "    here.console.print('progress')\n"
        "    here.print_json({'loss': float('nan'), 'id': b'\\x01'})\n"
        "print('after')"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    document, _, after = done.stdout.rpartition("after")
    assert json.loads(document) == {"loss": None, "id": "01"}
    assert after == "\n"
    assert {"a library prints", "progress"} <= set(done.stderr.splitlines())
    assert "a C library prints" in done.stderr
    assert "a child prints" in done.stderr


def test_ctrl_c_ends_with_130_and_one_sentence() -> None:
    code = (
        "import flows.cli as cli, time; cli.app.command('wait')(lambda: time.sleep(60))\n"
        "print('up', flush=True); cli.main()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, "wait"], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 130
    assert errors.strip() == "Stopped. Finished work is kept: the same command continues from there."


def test_stages_are_lines_in_a_file_and_silent_for_a_worker() -> None:
    assert type(reporter()) is Reporter
    text = StringIO()
    with reporting(Console(file=text)), reporter().stage("extract", 2) as stage:
        stage.advance(1)
        stage.note("half")
        stage.advance(1)
    assert type(reporter()) is Reporter
    first, last = text.getvalue().splitlines()
    assert first == "extract: 2 to do"
    assert re.fullmatch(r"extract: done in \d+\.\d s \(half\)", last)


def test_stages_are_bars_on_a_terminal() -> None:
    text = StringIO()
    with reporting(Console(file=text, force_terminal=True, width=100)), reporter().stage("train", 0) as stage:
        stage.advance(3)
        stage.note("loss 2.0")
        reporter().note("a checkpoint was saved")
    assert "train" in text.getvalue()
    assert "3/3" in text.getvalue()
    assert "a checkpoint was saved" in text.getvalue()


def results(*, reused: bool = False) -> PipelineResult:
    manifest = Manifest(
        name="demo",
        fingerprint="ab" * 32,
        parent="",
        created_at="",
        config={},
        code={},
        libraries={},
        inputs=[],
        funnel={
            "code": {"extract": Counts(seen=4, kept=4)},
            "web": {  # as a manifest gives them: sorted by name, not by order
                "quality": Counts(
                    seen=1000, kept=900, dropped={"short": 60, "lists": 20, "no_text": 10, "x": 9, "y": 1}
                ),
                "extract": Counts(seen=1200, kept=1000, dropped={"no_text": 200}),
            },
        },
        mix=[
            MixRecord(
                source="web",
                weight_declared=65,
                weight_normalised=0.8125,
                tokens_available=9000,
                tokens_asked=8125,
                tokens_realised=8120,
                share_realised=0.812,
                epochs=0.9,
            )
        ],
        validation=[ValidationRecord(source="web", num_documents=1, num_bytes=99, num_tokens=33)],
        licenses={},
        languages={},
        tokenizer=TokenizerRecord(
            origin="trained", vocab_size=9, eos_token_id=0, pad_token_id=1, sha256="", bytes_per_token=3
        ),
        decontamination={},
        row_format="",
        sequence_length=512,
        train_shards=[ShardRecord(path="", num_rows=20, num_tokens=8120, num_documents=9, sha256="")],
        validation_shards={},
    )
    evaluations = [{"step": step, "source": "web", "loss": 9.0 / step, "bits_per_byte": 3.0 / step} for step in (1, 2)]
    data = RefreshResult(manifest.version, manifest.fingerprint, reused, manifest, "mlflow-1", ("web lost 99 %",))
    trained = PretrainResult(
        "demo-run",
        manifest.version,
        reused,
        1,
        8.5,
        float("nan"),
        120,
        "/s/step-00000120",
        evaluations,
        "mlflow-2",
        1_234_567,
        983_040,
    )
    return PipelineResult(data, trained, {"refresh": 20.0, "pretrain": 60.5})


def test_the_summary_says_what_went_in_what_was_dropped_and_what_came_out(tmp_path: Path) -> None:
    text = StringIO()
    print_pipeline(Console(file=text, width=120), results(), str(tmp_path), {"crawl": 1.5})
    said = text.getvalue()
    lines = {" ".join(line.split()) for line in said.splitlines()}
    assert "web 1,200 900 300 no_text 210, short 60, lists 20, x 9, 1 more" in lines
    assert "all 1,204 904 300 no_text 210, short 60, lists 20, x 9, 1 more" in lines
    assert "web 81.2% 8,125 8,120 81.2% 0.90 33" in lines
    assert "web 2 4.5000 1.5000" in lines
    assert "web 1 9.0000 3.0000" not in lines
    assert "loss 8.5000 at the first step, nan at the last" in lines
    assert "time crawl 1.5 s, refresh 20.0 s, pretrain 60.5 s; 82.0 s in all" in lines
    for fact in ("demo-abababababab", "/s/step-00000120", "mlflow-2", "web lost 99 %", "1,234,567"):
        assert fact in said
    assert f"glassworks trace demo-run --step 120 --store {tmp_path}" in said


def test_a_second_run_says_that_all_was_there(tmp_path: Path) -> None:
    text = StringIO()
    print_pipeline(Console(file=text, width=120), results(reused=True), str(tmp_path), {})
    assert "Nothing to do: data version and run were there already." in text.getvalue()


def test_results_become_json() -> None:
    document: dict[str, Any] = json.loads(
        orjson.dumps(
            {"refresh": refresh_json(results().refresh), "pretrain": pretrain_json(results().pretrain)},
            default=lambda model: model.model_dump(),
        )
    )
    assert document["refresh"]["funnel"]["web"]["quality"]["kept"] == 900
    assert document["pretrain"]["last_loss"] is None
    assert document["pretrain"]["evaluations"][1]["bits_per_byte"] == 1.5
