"""Evaluate kept checkpoints: ``python -m tasks.evaluate.entry <run folder> <config JSON>``, one process.

Each checkpoint is loaded as anybody would load it, with ``AutoModelForCausalLM.from_pretrained``, and measured on
the same held-out rows of its data version. A checkpoint that is on record is not measured again.
"""

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM
from transformers.utils.logging import disable_progress_bar

from models.packed import logits_of, packed_inputs, summed_nll
from tasks.core.errors import PipelineError
from tasks.core.manifest import Manifest
from tasks.evaluate.stage import EvaluateConfig, bits_per_byte, perplexity
from tasks.io.checkpoints import Checkpoint, list_checkpoints, problem_of
from tasks.io.records import Appender, Record, RunFolder, read_records, write_json
from tasks.io.rows import RowReader
from tasks.io.store import Store
from tasks.io.versions import read_manifest

FAULT = 3


def main(folder: str, config_json: str) -> int:
    """Evaluate what is not on record yet, then write the marker; return the exit code."""
    disable_progress_bar()
    run, config = RunFolder(folder), EvaluateConfig.model_validate_json(config_json)
    try:
        facts = run.facts()
        store = Store(str(run.store_root))
        manifest = read_manifest(store, facts["data_version"])
        known = {record["step"] for record in read_records(run.evaluations)}
        for checkpoint in list_checkpoints(run):
            if checkpoint.step not in known:
                _evaluate(run, checkpoint, store, manifest, config)
    except PipelineError as error:
        print(str(error), flush=True)
        return FAULT
    write_json(run.evaluated, {"steps": sorted({record["step"] for record in read_records(run.evaluations)})})
    return 0


def _evaluate(run: RunFolder, checkpoint: Checkpoint, store: Store, manifest: Manifest, config: EvaluateConfig) -> None:
    if problem := problem_of(checkpoint):
        print(f"checkpoint {checkpoint.path.name} is not evaluated: {problem}", flush=True)
        return
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = AutoModelForCausalLM.from_pretrained(checkpoint.model, dtype="auto").to(device).eval()
    records = [
        _measured(model, checkpoint, store, manifest, source.source, config)
        for source in manifest.validation
        if source.num_tokens and source.num_bytes
    ]
    if config.sample_tokens:
        tokenizer = Tokenizer.from_file(str(checkpoint.model / "tokenizer.json"))
        with Appender(run.samples) as samples:
            for prompt in config.prompts:
                text = sample(model, tokenizer, prompt, config.sample_tokens)
                samples.append({"step": checkpoint.step, "prompt": prompt, "text": text, "time": time.time()})
    with Appender(run.evaluations) as evaluations:  # last: a step on this record counts as evaluated
        evaluations.extend(records)
    for record in records:
        print(
            f"step {record['step']}  {record['source']}: loss {record['loss']:.4f}, "
            f"{record['bits_per_byte']:.4f} bits per byte over {record['num_tokens']:,} tokens",
            flush=True,
        )


def _measured(
    model: Any,  # noqa: ANN401 - transformers is untyped
    checkpoint: Checkpoint,
    store: Store,
    manifest: Manifest,
    source: str,
    config: EvaluateConfig,
) -> Record:
    totals = next(item for item in manifest.validation if item.source == source)
    reader = RowReader(store, manifest.version, manifest.validation_shards[source], manifest.sequence_length)
    reader.check()
    num_rows = min(len(reader), config.max_rows_per_source or len(reader))
    nll, num_targets = held_out_nll(model, reader, num_rows, config.batch_size)
    loss = nll / num_targets
    return {
        "step": checkpoint.step,
        "tokens": checkpoint.manifest["tokens"],
        "source": source,
        "loss": loss,
        "perplexity": perplexity(loss),
        "bits_per_byte": bits_per_byte(loss, totals.num_tokens, totals.num_bytes),
        "bytes_per_token": totals.num_bytes / totals.num_tokens,
        "num_tokens": num_targets,
        "num_rows": num_rows,
        "data_version": manifest.version,
        "checkpoint": checkpoint.path.name,
        "time": time.time(),
    }


@torch.no_grad()
def held_out_nll(model: Callable[..., Any], reader: RowReader, num_rows: int, batch_size: int) -> tuple[float, int]:
    """Return the summed negative log-likelihood over the first rows, and how many targets it is over."""
    nll, num_targets = 0.0, 0
    device = next(model.parameters()).device  # type: ignore[attr-defined]
    for begin in range(0, num_rows, batch_size):
        rows = reader.read(np.arange(begin, min(begin + batch_size, num_rows)))
        ids = torch.from_numpy(rows.input_ids.astype(np.int64)).to(device)
        inputs = packed_inputs(ids, torch.from_numpy(rows.segment_ids).to(device))
        nll += float(summed_nll(logits_of(model, inputs), inputs.targets))
        num_targets += inputs.num_targets
    return nll, num_targets


@torch.no_grad()
def sample(model: Any, tokenizer: Tokenizer, prompt: str, num_tokens: int) -> str:  # noqa: ANN401 - as above
    """Return the greedy continuation of a prompt."""
    ids = torch.tensor([tokenizer.encode(prompt, add_special_tokens=False).ids], device=model.device)
    if not ids.numel():
        return ""
    room = model.config.max_position_embeddings - ids.shape[1]
    if room <= 0:
        return ""
    output = model.generate(
        ids,
        attention_mask=torch.ones_like(ids),
        max_new_tokens=min(num_tokens, room),
        do_sample=False,
        pad_token_id=model.config.pad_token_id,
    )
    return str(tokenizer.decode(output[0, ids.shape[1] :].tolist()))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
