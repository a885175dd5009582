"""Evaluation of checkpoints as anybody would load them: right values, each once, damaged ones left out."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from prefect.logging import disable_run_logger
from tokenizers import Tokenizer

from models.config import ModelConfig
from models.llama import build_llama
from models.packed import logits_of, packed_inputs, summed_nll
from tasks.core.errors import InputError
from tasks.core.manifest import Manifest
from tasks.evaluate.entry import held_out_nll, sample
from tasks.evaluate.stage import EvaluateConfig
from tasks.evaluate.task import evaluate_run
from tasks.io import checkpoints, training_state
from tasks.io.records import RunFolder, read_records
from tasks.io.rows import RowReader
from tasks.io.store import Store


def build(manifest: Manifest, *, uniform: bool = False) -> torch.nn.Module:
    tokenizer = manifest.tokenizer
    model = build_llama(
        ModelConfig(size="tiny"), tokenizer.vocab_size, manifest.sequence_length, 3,
        eos=tokenizer.eos_token_id, pad=tokenizer.pad_token_id,
    )  # fmt: skip
    if uniform:
        model.model.norm.weight.data.zero_()
    return model.eval()


def save(store: Store, manifest: Manifest, run: RunFolder, step: int, model: torch.nn.Module) -> None:
    with checkpoints.writing(run, step, {"step": step, "tokens": 10 * step}) as partial:
        training_state.copy_tokenizer(store, manifest.version, partial / "model")
        training_state.save_weights(partial / "model", model, model.state_dict())


def evaluate(store: Store, run: RunFolder) -> list[dict[str, object]]:
    with disable_run_logger():
        found: list[dict[str, object]] = evaluate_run.fn(store, run.run_id, EvaluateConfig(sample_tokens=5))
    return found


def test_a_uniform_model_has_the_logarithm_of_the_vocabulary_and_the_sources_bytes_decide_its_bits(
    store: Store, version_in: Callable[..., Manifest]
) -> None:
    """Also: a second call measures only what is new, and a damaged checkpoint is not measured."""
    manifest = version_in(store)
    run = RunFolder(store.local_path("runs/r-1"))
    run.prepare()
    run.write_facts({"run": "r-1", "data_version": manifest.version})
    save(store, manifest, run, 5, build(manifest, uniform=True))
    save(store, manifest, run, 7, build(manifest))
    (checkpoints.list_checkpoints(run)[1].model / "config.json").write_text("{}")
    found = evaluate(store, run)
    assert [(record["step"], record["source"]) for record in found] == [(5, "web"), (5, "code")]
    for record in found:
        assert record["loss"] == pytest.approx(math.log(64), rel=1e-6)
        assert record["bits_per_byte"] == pytest.approx(6 / 4)  # 6 bits a token, 4 bytes a token
        assert record["perplexity"] == pytest.approx(64, rel=1e-5)
    assert [item["prompt"] for item in read_records(run.samples)] == list(EvaluateConfig().prompts)
    damaged = checkpoints.list_checkpoints(run)[1].path
    damaged.rename(damaged.with_name("away"))
    assert evaluate(store, run) == found
    assert len(read_records(run.samples)) == 3


def test_the_held_out_loss_is_that_of_each_row_on_its_own(store: Store, version_in: Callable[..., Manifest]) -> None:
    manifest = version_in(store)
    model = build(manifest)
    shards = manifest.validation_shards["web"]
    reader = RowReader(store, manifest.version, shards, manifest.sequence_length)
    nll, num_targets = held_out_nll(model, reader, 5, batch_size=2)
    expected, count = 0.0, 0
    for number in range(5):
        rows = reader.read(np.array([number]))
        for segment in range(int(rows.segment_ids.max()) + 1):
            ids = torch.from_numpy(rows.input_ids[rows.segment_ids == segment].astype(np.int64))[None]
            inputs = packed_inputs(ids, torch.zeros_like(ids))
            with torch.no_grad():
                expected += float(summed_nll(logits_of(model, inputs), inputs.targets))
            count += ids.shape[1] - 1
    assert num_targets == count
    assert nll == pytest.approx(expected, rel=1e-5)


def test_a_sample_stays_within_the_models_length(store: Store, version_in: Callable[..., Manifest]) -> None:
    manifest = version_in(store)
    path = Path(store.path(f"versions/{manifest.version}/tokenizer/tokenizer.json"))
    tokenizer = Tokenizer.from_file(str(path))
    model = build(manifest)
    assert sample(model, tokenizer, "abc", 100) == sample(model, tokenizer, "abc", 100)
    assert sample(model, tokenizer, "a" * 40, 5) == ""
    assert sample(model, tokenizer, "", 5) == ""


def test_a_run_that_is_not_there_is_a_clear_fault(store: Store) -> None:
    with pytest.raises(InputError, match="run nothing-here"):
        evaluate_run.fn(store, "nothing-here")
