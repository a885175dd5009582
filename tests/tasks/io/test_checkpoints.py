"""Checkpoints are whole and verified, or reported; they never silently count as none."""

from pathlib import Path

import pytest

from tasks.core.errors import LaunchError, StaleOutputError
from tasks.io.checkpoints import (
    check_same,
    clean,
    list_checkpoints,
    newest_usable,
    partial_folder,
    problem_of,
    prune,
    writing,
)
from tasks.io.records import Appender, RunFolder


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    run = RunFolder(tmp_path / "run")
    run.prepare()
    return run


def save(run: RunFolder, *steps: int) -> None:
    for step in steps:
        with writing(run, step, {"step": step, "identity": {"data": "a", "config": {"lr": 1, "seed": 2}}}) as partial:
            (partial / "model").mkdir()
            (partial / "model" / "weights").write_bytes(b"w" * 1000)
            (partial / "state").mkdir()
            (partial / "state" / "adam").write_bytes(bytes([step % 256]) * 500)


def steps_of(run: RunFolder) -> list[int]:
    return [checkpoint.step for checkpoint in list_checkpoints(run)]


def test_a_saved_checkpoint_verifies_and_the_newest_is_taken_by_number(run: RunFolder) -> None:
    save(run, 2, 10, 9)
    assert [problem_of(checkpoint) for checkpoint in list_checkpoints(run)] == [""] * 3
    newest = newest_usable(run, pytest.fail)
    assert newest is not None
    assert newest.step == 10


def test_b69_damaged_newer_ones_are_reported_and_the_newest_whole_one_is_taken(run: RunFolder) -> None:
    save(run, 100, 200, 300, 400, 500)
    folders = {checkpoint.step: checkpoint.path for checkpoint in list_checkpoints(run)}
    (folders[500] / "manifest.json").unlink()
    (folders[400] / "model" / "weights").write_bytes(b"")
    content = bytearray((folders[300] / "state" / "adam").read_bytes())
    content[17] ^= 1
    (folders[300] / "state" / "adam").write_bytes(bytes(content))
    said: list[str] = []
    found = newest_usable(run, said.append)
    assert found is not None
    assert found.step == 200
    assert "no readable manifest" in said[0]
    assert "0 bytes, wanted 1000" in said[1]
    assert "SHA-256 differs" in said[2]


def test_b70_when_no_checkpoint_can_be_used_the_run_stops_and_touches_nothing(run: RunFolder) -> None:
    save(run, 1, 2)
    for checkpoint in list_checkpoints(run):
        (checkpoint.path / "state" / "adam").write_bytes(b"")
    before = sorted(run.path.rglob("*"))
    with pytest.raises(LaunchError, match=r"none can be used.*step-00000002.*step-00000001") as error:
        newest_usable(run, lambda _: None)
    assert "move" in error.value.fix
    assert sorted(run.path.rglob("*")) == before


def test_a_save_that_is_cut_off_leaves_no_checkpoint_and_is_cleaned_away(run: RunFolder) -> None:
    save(run, 1)
    cut_off = writing(run, 2, {})
    (cut_off.__enter__() / "half").write_bytes(b"x")
    assert not cut_off.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert steps_of(run) == [1]
    assert partial_folder(run, 2).exists()
    clean(run)
    assert not partial_folder(run, 2).exists()


def test_no_checkpoint_at_all_means_a_fresh_start(run: RunFolder) -> None:
    assert newest_usable(run, pytest.fail) is None


def test_r_8_1_3_and_r_8_1_6_old_ones_go_but_never_the_newest_evaluated_or_permanent(run: RunFolder) -> None:
    save(run, 1, 2, 3, 4, 5, 6)
    with Appender(run.evaluations) as evaluations:
        evaluations.append({"step": 2, "loss": 1.0})
    (list_checkpoints(run)[2].path / "permanent").touch()
    assert prune(run, keep=2) == [1, 4]
    assert steps_of(run) == [2, 3, 5, 6]
    assert prune(run, keep=1) == [5]
    assert steps_of(run) == [2, 3, 6]
    assert not list(run.checkpoints.glob(".*"))


def test_r_7_5_7_other_settings_are_refused_with_the_keys_that_differ(run: RunFolder) -> None:
    save(run, 1)
    checkpoint = list_checkpoints(run)[0]
    check_same(checkpoint, {"data": "a", "config": {"lr": 1, "seed": 2}})
    with pytest.raises(StaleOutputError, match=r"config.lr: checkpoint 1, now 3\n  data: checkpoint 'a', now 'b'"):
        check_same(checkpoint, {"data": "b", "config": {"lr": 3, "seed": 2}})


def test_saving_a_step_again_replaces_it(run: RunFolder) -> None:
    save(run, 1, 1)
    assert steps_of(run) == [1]
    assert problem_of(list_checkpoints(run)[0]) == ""
