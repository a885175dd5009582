"""Training for real: killed and continued, stopped, laid out anew, found done. DeepSpeed on the CPU, seconds each."""

import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from prefect.logging import disable_run_logger
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM

from models.config import num_parameters
from tasks.core.errors import InputError, LaunchError, StaleOutputError
from tasks.core.manifest import Manifest
from tasks.io.checkpoints import list_checkpoints, problem_of, writing
from tasks.io.records import RunFolder, effective, read_json, read_records
from tasks.io.store import Store
from tasks.train.batches import batch_order_hash
from tasks.train.stage import TrainConfig
from tasks.train.task import TrainResult, run_id_of, run_identity, train_run

STEPS = 36


@dataclass
class Shop:
    """A store with one data version, and a way to train on it."""

    store: Store
    manifest: Manifest

    def config(self, **changes: Any) -> TrainConfig:
        values = {
            "name": "tiny", "model": {"size": "tiny"}, "max_steps": STEPS, "global_batch_size": 4,
            "micro_batch_size": 4, "learning_rate": 1e-2, "schedule": {"warmup_steps": 3}, "save_steps": 4,
            "logging_steps": 10, "keep_checkpoints": 2, "num_ranks": 1,
        }  # fmt: skip
        return TrainConfig.checked({**values, **changes}, where="test")

    def train(
        self,
        config: TrainConfig,
        on_metrics: Callable[[Mapping[str, Any]], None] = lambda _: None,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> TrainResult:
        with disable_run_logger():
            result: TrainResult = train_run.fn(self.store, config, self.manifest.version, on_metrics, should_stop)
        return result

    def run(self, run_id: str) -> RunFolder:
        return RunFolder(self.store.local_path(f"runs/{run_id}"))

    def only_run(self) -> RunFolder | None:
        folders = list(self.store.local_path("runs").glob("*"))
        return RunFolder(folders[0]) if folders else None

    def other_run_than(self, name: str) -> Callable[[], RunFolder | None]:
        folder = self.store.local_path("runs")
        return lambda: next((RunFolder(item) for item in folder.glob("*") if not item.name.startswith(name)), None)

    def present_run(self) -> RunFolder:
        run = self.only_run()
        assert run is not None
        return run


@pytest.fixture
def shop(store: Store, version_in: Callable[..., Manifest]) -> Shop:
    return Shop(store, version_in(store))


def losses(run: RunFolder) -> list[float]:
    return [record["loss"] for record in effective(read_records(run.metrics))]


def final_state(run: RunFolder) -> dict[str, torch.Tensor]:
    return load_file(list_checkpoints(run)[-1].path / "state" / "parameters-00000.safetensors")


def ranks_of(run: RunFolder) -> list[int]:
    """Rank processes of a run: its folder is their last argument, and they are no guard."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            line = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
        except (FileNotFoundError, ProcessLookupError):
            continue
        if b"tasks.train.entry" in line and str(run.path).encode() in line and b"guard.py" not in b" ".join(line):
            found.append(int(entry.name))
    return found


@contextmanager
def sending(number: signal.Signals, run_of: Callable[[], RunFolder | None], when: Callable[[RunFolder], bool]) -> Any:
    """Send the ranks of a run a signal as soon as ``when`` is true of it; yield whether that has happened."""
    sent = threading.Event()
    over = threading.Event()

    def watch() -> None:
        while not over.is_set() and not sent.is_set():
            run = run_of()
            if run and when(run) and (ranks := ranks_of(run)):
                for pid in ranks:
                    os.kill(pid, number)
                sent.set()
            time.sleep(0.002)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield sent
    finally:
        over.set()
        watcher.join()


def at_step(step: int) -> Callable[[RunFolder], bool]:
    return lambda run: f'"step":{step},' in (run.metrics.read_text() if run.metrics.exists() else "")


def while_saving(run: RunFolder) -> bool:
    return any(run.checkpoints.glob(".partial-*"))


@pytest.mark.slow
def test_killed_again_and_again_a_run_ends_as_if_nothing_had_happened(
    tmp_path: Path, version_in: Callable[..., Manifest]
) -> None:
    """Promise 4: the same losses and the same weights, bit for bit, in bf16 over three epochs (B62 too)."""
    stores = [Store(str(tmp_path / name)) for name in ("calm", "rough")]
    calm, rough = (Shop(store, version_in(store)) for store in stores)
    undisturbed = calm.train(calm.config())
    attempts = 1
    for moment in (at_step(2), while_saving, at_step(17)):
        with sending(signal.SIGKILL, rough.only_run, moment) as sent, pytest.raises(LaunchError, match="SIGKILL"):
            rough.train(rough.config())
        assert sent.is_set()
        assert not ranks_of(rough.present_run())
        attempts += 1
    result = rough.train(rough.config())
    run, reference = rough.run(result.run_id), calm.run(undisturbed.run_id)
    assert result.run_id == undisturbed.run_id
    assert result.attempt == attempts
    assert losses(run) == losses(reference)
    ended, expected = final_state(run), final_state(reference)
    assert all(torch.equal(ended[name], expected[name]) for name in expected | ended)
    assert {record["step"] for record in read_records(run.metrics)} == set(range(1, STEPS + 1))
    check_records(rough, run, result)
    again = rough.train(rough.config())
    assert again.reused
    assert again.last_loss == result.last_loss


def check_records(shop: Shop, run: RunFolder, result: TrainResult) -> None:
    """What a finished run has on record, and what its checkpoints hold (R-8.4)."""
    newest = list_checkpoints(run)[-1]
    assert [item.step for item in list_checkpoints(run)] == [32, 36]
    assert [problem_of(item) for item in list_checkpoints(run)] == ["", ""]
    assert result.checkpoints[-1] == str(newest.path)
    assert newest.manifest["tokenizer_sha256"] == shop.manifest.tokenizer.sha256
    assert (newest.model / "tokenizer.json").exists()
    trainer = read_json(newest.path / "state" / "trainer.json")
    assert trainer["next_row"] == STEPS * 4
    assert trainer["batch_order_hash"] == batch_order_hash(STEPS, 4, shop.manifest.num_rows, 42)
    assert newest.manifest["tokens"] == trainer["trackers"]["tokens"] == result.num_tokens
    model = AutoModelForCausalLM.from_pretrained(newest.model, dtype="auto")
    assert model.dtype == torch.bfloat16
    assert model.num_parameters() == num_parameters(shop.config().model.shape, shop.manifest.tokenizer.vocab_size)
    master = final_state(run)["model.norm.weight|fp32"]
    assert torch.equal(model.model.norm.weight, master.bfloat16())
    rows = read_records(run.metrics)
    assert {"attempt", "time", "lr", "grad_norm", "tokens_per_second", "data_wait_seconds", "epoch"} <= rows[0].keys()
    assert result.last_loss < result.first_loss - 0.3
    facts = run.facts()
    assert facts["identity"]["data"] == shop.manifest.fingerprint
    assert run.attempts()[-1]["outcome"] == "done"


@pytest.mark.slow
def test_a_stopped_run_goes_on_with_other_ranks_zero_stage_and_micro_batch(shop: Shop) -> None:
    """1 rank of 4 rows = 1 rank of 2 x 2 accumulated = 2 ranks of 2, to 1e-6; ZeRO-0 and 2 agree (B72, R-7.3)."""
    plain = shop.config(precision="fp32", zero_stage=0, max_steps=20, name="plain")
    whole = losses(shop.run(shop.train(plain).run_id))
    accumulated = plain.model_copy(update={"name": "laid-out", "micro_batch_size": 2, "save_steps": 100})
    laid_out = shop.other_run_than("plain")
    with sending(signal.SIGTERM, laid_out, at_step(3)), pytest.raises(LaunchError, match="was stopped"):
        shop.train(accumulated)
    spread = accumulated.model_copy(update={"num_ranks": 2, "zero_stage": 2})
    result = shop.train(spread)
    run = shop.run(result.run_id)
    attempts = [record["attempt"] for record in read_records(run.metrics)]
    assert losses(run) == pytest.approx(whole, abs=1e-6)
    assert sorted(set(attempts)) == [1, 2]
    assert len(attempts) == 20  # nothing was done twice
    assert [item.step for item in list_checkpoints(run)] == [attempts.count(1), 20]
    assert (list_checkpoints(run)[-1].path / "state" / "rng-rank-1.json").exists()


def test_a_checkpoint_of_other_settings_stops_the_run_before_it_trains(shop: Shop) -> None:
    """R-7.5-6: the run folder's facts say what belongs in it."""
    config = shop.config(max_steps=5)
    run_id = prepare_foreign_checkpoint(shop, config)
    with pytest.raises(StaleOutputError, match=r"learning_rate: checkpoint 5, now 0\.01"):
        shop.train(config)
    assert not read_records(shop.run(run_id).metrics)


def test_b70_a_run_whose_checkpoints_are_all_damaged_does_not_start(shop: Shop) -> None:
    config = shop.config(max_steps=5)
    run = shop.run(prepare_foreign_checkpoint(shop, config))
    (list_checkpoints(run)[0].path / "x").write_text("y")
    with pytest.raises(LaunchError, match="step-00000002"):
        shop.train(config)
    assert [item["kind"] for item in read_records(run.incidents)] == ["damaged_checkpoint"]
    assert not run.attempts()


def prepare_foreign_checkpoint(shop: Shop, config: TrainConfig) -> str:
    """Put a whole checkpoint with another identity into the folder that the run will have."""
    identity = run_identity(config, shop.manifest)
    run = shop.run(run_id_of(config, shop.manifest))
    run.prepare()
    other = {**identity, "config": {**identity["config"], "learning_rate": 5}}
    with writing(run, 2, {"step": 2, "identity": other}) as partial:
        (partial / "x").write_text("x")
    return run.run_id


def test_faults_of_settings_and_data_stop_before_anything_is_started(shop: Shop) -> None:
    with pytest.raises(InputError, match="tiny-cd3958850f65"):
        with disable_run_logger():
            train_run.fn(shop.store, shop.config(), "missing-version")
    with pytest.raises(InputError, match="max_epochs"):
        shop.train(shop.config(max_steps=1000))
    assert not shop.store.list("runs")


def test_offload_without_a_compiler_fails_at_once(shop: Shop, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LaunchError, match=r"missing g\+\+"):
        shop.train(shop.config(offload_optimizer=True))
