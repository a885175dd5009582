"""What each rank runs: ``python -m tasks.train.entry <run folder>``, started by :mod:`tasks.io.launch`.

Order: join the group, build the model from its seed, prove that packed documents do not see each other, load the
checkpoint that the launching task has verified, train, save, write done.json last. Rank 0 writes the records. SIGTERM
ends the run after the step in hand, with a checkpoint and exit code STOPPED.
"""

import os
import random
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers.utils.logging import disable_progress_bar

from models.llama import build_llama
from models.packed import check_isolation
from tasks.core.errors import PipelineError
from tasks.core.seeds import seed_for
from tasks.io import training_state
from tasks.io.launch import STOPPED
from tasks.io.records import Appender, RunFolder
from tasks.io.rows import PackedRows, RowReader, read_ahead
from tasks.io.store import NO_SPACE, Store
from tasks.io.versions import read_manifest
from tasks.train.batches import global_batch, rank_rows
from tasks.train.engine import Batch, DeepSpeedEngine, init_distributed
from tasks.train.loop import NonFiniteLossError, StepData, Trackers, train
from tasks.train.recorder import Context, Recorder
from tasks.train.stage import TrainConfig, data_facts, plan_training, schedule_of

FAULT = 3
NON_FINITE = 4


def main(folder: str) -> int:
    """Run one rank and return its exit code."""
    stop = _Stop()
    try:
        context = _context(RunFolder(folder))
        code = _train(context, stop)
        torch.distributed.destroy_process_group()
        return code
    except PipelineError as error:
        print(str(error), flush=True)
        return FAULT
    except OSError as error:
        if error.errno not in NO_SPACE:
            raise
        print(f"{folder}: no space left on the device; free space there, then start again to continue", flush=True)
        return FAULT
    except NonFiniteLossError as error:
        return _report_non_finite(RunFolder(folder), error)


class _Stop:
    """Whether SIGTERM or SIGINT came."""

    def __init__(self) -> None:
        self.asked = False
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._ask)

    def _ask(self, _number: int, _frame: Any) -> None:  # noqa: ANN401
        self.asked = True

    def __call__(self) -> bool:
        return self.asked


def _context(run: RunFolder) -> Context:
    facts, attempt = run.facts(), run.attempts()[-1]
    config = TrainConfig.checked(attempt["config"], where=f"run {run.run_id}")
    store = Store(str(run.store_root))
    manifest = read_manifest(store, facts["data_version"])
    world_size = int(os.environ["WORLD_SIZE"])
    plan = plan_training(config, data_facts(manifest), world_size)
    local = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local) if torch.cuda.is_available() else torch.device("cpu")
    os.environ["DS_ACCELERATOR"] = device.type
    disable_progress_bar()
    return Context(run, facts, attempt, config, plan, store, manifest, int(os.environ["RANK"]), device)


def _train(context: Context, stop: _Stop) -> int:
    config, run = context.config, context.run
    meeting_point = str(run.path / f"meeting-{context.attempt['uuid']}")
    init_distributed(context.device, context.rank, context.plan.world_size, meeting_point)
    model = _model(context)
    reader = RowReader(
        context.store, context.facts["data_version"], context.manifest.train_shards, context.manifest.sequence_length
    )
    reader.check()
    # The launching task has chosen and verified it, once for all ranks.
    start = run.checkpoints / context.attempt["start_from"] if context.attempt["start_from"] else None
    if start:
        model.load_state_dict(dict(training_state.read_parameters(start, "fp32")), strict=False)
    engine = DeepSpeedEngine(model, config, context.plan, context.device)
    trackers = _restored(context, engine, start) if start else Trackers()
    recorder = Recorder(context, engine, trackers, len(reader))
    context.say(_greeting(context, trackers))
    schedule = schedule_of(config, context.plan.num_steps)
    began = time.time()
    finished = train(
        engine,
        _batches(context, reader, trackers.step),
        schedule,
        config.learning_rate,
        trackers,
        recorder.on_step,
        stop,
    )
    recorder.save(final=True)
    Path(meeting_point).unlink(missing_ok=True)
    if not finished:
        context.say(f"stopped as asked after step {trackers.step}, with a checkpoint; start again to continue")
        return STOPPED
    recorder.finish(time.time() - began)
    return 0


def _model(context: Context) -> Any:  # noqa: ANN401 - transformers is untyped
    for seed in (random.seed, np.random.seed, torch.manual_seed):
        seed(seed_for(context.config.seed, "rank", context.rank))
    tokenizer = context.manifest.tokenizer
    model = build_llama(
        context.config.model,
        tokenizer.vocab_size,
        context.manifest.sequence_length,
        seed_for(context.config.seed, "weights"),
        eos=tokenizer.eos_token_id,
        pad=tokenizer.pad_token_id,
    ).to(context.device)
    leak = check_isolation(model, tokenizer.vocab_size)
    context.say(f"packed documents do not see each other (largest change of a logit: {leak:g})")
    return model


def _restored(context: Context, engine: DeepSpeedEngine, start: Path) -> Trackers:
    trainer = training_state.read_trainer(start)
    for kind in ("fp32", "exp_avg", "exp_avg_sq"):
        engine.load_state(kind, training_state.read_parameters(start, kind))
    engine.set_num_updates(trainer["num_updates"])
    training_state.restore_rng(start, context.rank)
    context.say(f"continuing from checkpoint {start.name}")
    return Trackers(**trainer["trackers"])


def _batches(context: Context, reader: RowReader, first_step: int) -> Iterator[StepData]:
    config, plan = context.config, context.plan
    size, num_rows = config.global_batch_size, len(reader)

    def requests() -> Iterator[Any]:
        for step in range(first_step, plan.num_steps):
            yield rank_rows(global_batch(step, size, num_rows, config.seed), context.rank, plan.world_size)

    for step, (rows, waited) in enumerate(read_ahead(reader, requests()), first_step):
        facts = {"first_row": step * size, "epoch": step * size // num_rows}
        yield StepData(micro_batches(rows, config.micro_batch_size), int(rows.num_tokens.sum()), waited, facts)


def micro_batches(rows: PackedRows, size: int) -> list[Batch]:
    """Cut rows into micro-batches of tensors."""
    ids = torch.from_numpy(rows.input_ids.astype(np.int64))
    segments = torch.from_numpy(rows.segment_ids)
    return [Batch(ids[begin : begin + size], segments[begin : begin + size]) for begin in range(0, len(ids), size)]


def _report_non_finite(run: RunFolder, error: NonFiniteLossError) -> int:
    if os.environ["RANK"] == "0":
        incident = {"kind": "non_finite_loss", "step": error.step, "value": str(error.loss), "time": time.time()}
        with Appender(run.incidents) as incidents:
            incidents.append({"attempt": len(run.attempts()), **incident})
        print(
            f"{error}: training stops before this update, the last checkpoint is unharmed; look in this order: ids out "
            "of range or batches without targets, precision (use bf16), learning rate (lower it), warm-up",
            flush=True,
        )
    return NON_FINITE


def _greeting(context: Context, trackers: Trackers) -> str:
    plan, config = context.plan, context.config
    lines = [
        f"run {context.run.run_id}, attempt {context.attempt['attempt']}: {context.facts['data_version']} on "
        f"{plan.world_size} rank(s), {context.device.type}, {config.precision}, ZeRO-{config.zero_stage}",
        f"{plan.num_parameters:,} parameters, {plan.flops_per_token:,} FLOPs per token, {plan.total_flops:.3g} in all",
        f"{config.global_batch_size} sequences a step = {config.micro_batch_size} x {plan.gradient_accumulation_steps} "
        f"accumulated x {plan.world_size} rank(s); {plan.tokens_per_micro_batch:,} tokens a micro-batch, "
        f"{plan.global_batch_tokens:,} a step",
        f"steps {trackers.step + 1} to {plan.num_steps}, {plan.total_tokens:,} tokens, {plan.epochs:.2f} epochs",
        *(f"warning: {text}" for text in plan.warnings),
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
