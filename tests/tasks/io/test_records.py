"""Records of a run: append-only, whole lines only, attempts numbered."""

from pathlib import Path

import pytest

from tasks.core.errors import InputError
from tasks.io.records import Appender, Follower, RunFolder, effective, read_records


def test_a_line_that_a_killed_writer_left_half_is_no_record_and_goes_with_the_next_writer(tmp_path: Path) -> None:
    file = tmp_path / "metrics.jsonl"
    with Appender(file) as writer:
        writer.append({"step": 1})
    with file.open("ab") as handle:
        handle.write(b'{"step": 2, "lo')
    assert read_records(file) == [{"step": 1}]
    with Appender(file) as writer:
        writer.append({"step": 2})
    assert read_records(file) == [{"step": 1}, {"step": 2}]


def test_a_follower_gets_each_record_once(tmp_path: Path) -> None:
    file = tmp_path / "metrics.jsonl"
    follower = Follower(file)
    assert list(follower.new()) == []
    with Appender(file) as writer:
        writer.append({"step": 1})
        assert list(follower.new()) == [{"step": 1}]
        writer.append({"step": 2})
        late = Follower(file, from_end=True)
        writer.append({"step": 3})
    assert [record["step"] for record in follower.new()] == [2, 3]
    assert [record["step"] for record in late.new()] == [3]


def test_nan_becomes_null(tmp_path: Path) -> None:
    with Appender(tmp_path / "x.jsonl") as writer:
        writer.append({"loss": float("nan"), "grad_norm": float("inf")})
    assert read_records(tmp_path / "x.jsonl") == [{"loss": None, "grad_norm": None}]


def test_steps_done_twice_stay_on_record_and_the_last_attempt_counts() -> None:
    records = [
        {"attempt": 1, "step": 1, "loss": 5}, {"attempt": 1, "step": 2, "loss": 4},
        {"attempt": 2, "step": 2, "loss": 4.5}, {"attempt": 2, "step": 3, "loss": 3},
    ]  # fmt: skip
    assert [record["loss"] for record in effective(records)] == [5, 4.5, 3]


def test_r_8_1_1_two_launches_in_the_same_second_get_different_ids(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    run.prepare()
    attempts = [run.new_attempt({"world_size": 1}) for _ in range(11)]
    assert [item["attempt"] for item in run.attempts()] == list(range(1, 12))
    assert len({item["uuid"] for item in attempts}) == 11
    run.end_attempt(2, {"outcome": "done"})
    assert run.attempts()[1]["outcome"] == "done"


def test_a_run_that_is_not_there_is_named_with_those_that_are(tmp_path: Path) -> None:
    RunFolder(tmp_path / "other").prepare()
    RunFolder(tmp_path / "other").write_facts({"run": "other"})
    with pytest.raises(InputError, match="use one of: other"):
        RunFolder(tmp_path / "missing").facts()
