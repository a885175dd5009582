"""What rank 0 writes while a run goes on: records of every step, progress lines, checkpoints, and done.json last.

All ranks take part in a save, because a parameter's state is spread over them; rank 0 writes and publishes it.
"""

import time
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path

import torch

from tasks.core.manifest import Manifest
from tasks.io import checkpoints, training_state
from tasks.io.records import Appender, Record, RunFolder, write_json
from tasks.io.store import Store
from tasks.train.batches import batch_order_hash
from tasks.train.engine import DeepSpeedEngine
from tasks.train.loop import NonFiniteLossError, Trackers
from tasks.train.stage import TrainConfig, TrainingPlan

_DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}


@dataclass(frozen=True, slots=True)
class Context:
    """What a rank knows of its run."""

    run: RunFolder
    facts: Record
    attempt: Record
    config: TrainConfig
    plan: TrainingPlan
    store: Store
    manifest: Manifest
    rank: int
    device: torch.device

    @property
    def leads(self) -> bool:
        """Whether this is rank 0, which writes the records."""
        return self.rank == 0

    def say(self, text: str) -> None:
        """Print a line for people, once per run."""
        if self.leads:
            print(text, flush=True)


class Recorder:
    """Writes records and checkpoints while the loop runs."""

    def __init__(self, context: Context, engine: DeepSpeedEngine, trackers: Trackers, num_rows: int) -> None:
        self._context = context
        self._engine = engine
        self._trackers = trackers
        self._num_rows = num_rows
        self._saved = trackers.step
        self._metrics = Appender(context.run.metrics) if context.leads else None

    def on_step(self, record: Record) -> None:
        """Record a step; save when it is time."""
        context = self._context
        if self._metrics:
            attempt = context.attempt["attempt"]
            self._metrics.append({"attempt": attempt, "time": time.time(), **record})
            context.run.heartbeat.write_text(f'{{"attempt": {attempt}, "step": {record["step"]}}}\n', encoding="ascii")
            if record["step"] % context.config.logging_steps == 0 or record["step"] == context.plan.num_steps:
                context.say(_progress(record, context.plan.num_steps))
        if record["step"] % context.config.save_steps == 0:
            self.save()

    def save(self, *, final: bool = False) -> None:
        """Save a checkpoint of the current step, unless there is one; all ranks together."""
        context, step = self._context, self._trackers.step
        if step == self._saved and (final or step):
            return
        began = time.perf_counter()
        partial = checkpoints.partial_folder(context.run, step)
        if context.leads:
            checkpoints.clean(context.run)
            partial.mkdir(parents=True)
        self._engine.barrier()
        training_state.write_rng(partial, context.rank)
        _write_model_state(context, self._engine, partial)
        self._engine.barrier()
        if context.leads:
            self._publish(partial, step)
            context.say(f"checkpoint of step {step} saved in {time.perf_counter() - began:.1f} s")
        self._engine.barrier()
        self._saved = step

    def _publish(self, partial: Path, step: int) -> None:
        context, trackers = self._context, self._trackers
        size = context.config.global_batch_size
        training_state.copy_tokenizer(context.store, context.facts["data_version"], partial / "model")
        trainer = {
            "trackers": asdict(trackers),
            "num_updates": self._engine.num_updates(),
            "next_row": step * size,
            "epoch": step * size // self._num_rows,
            "world_size": context.plan.world_size,
            "batch_order_hash": batch_order_hash(step, size, self._num_rows, context.config.seed),
        }
        training_state.write_trainer(partial, trainer)
        checkpoints.publish(partial, context.run.checkpoints / checkpoints.folder_name(step), self._facts(step))
        checkpoints.prune(context.run, context.config.keep_checkpoints)

    def _facts(self, step: int) -> Record:
        context, trackers = self._context, self._trackers
        return {
            "run": context.run.run_id,
            "attempt": context.attempt["attempt"],
            "step": step,
            "tokens": trackers.tokens,
            "loss": trackers.last_loss,
            "data_version": context.facts["data_version"],
            "tokenizer_sha256": context.manifest.tokenizer.sha256,
            "identity": context.facts["identity"],
            "created_at": time.time(),
        }

    def finish(self, seconds: float) -> None:
        """Write done.json, last of all."""
        context, trackers = self._context, self._trackers
        if self._metrics:
            self._metrics.close()
            newest = checkpoints.list_checkpoints(context.run)[-1]
            done = {
                "step": trackers.step,
                "tokens": trackers.tokens,
                "first_loss": trackers.first_loss,
                "last_loss": trackers.last_loss,
                "skipped_steps": trackers.skipped_steps,
                "checkpoint": newest.path.name,
                "attempt": context.attempt["attempt"],
                "seconds": seconds,
                "time": time.time(),
            }
            write_json(context.run.done, done)
            context.say(f"done: loss {trackers.first_loss:.4f} -> {trackers.last_loss:.4f} in {trackers.step} steps")


def _write_model_state(context: Context, engine: DeepSpeedEngine, partial: Path) -> None:
    """Gather every parameter; rank 0 writes the canonical state and weights that ``from_pretrained`` loads."""
    dtype = _DTYPES[context.config.precision]
    writer = training_state.parameter_writer(partial) if context.leads else None
    weights: dict[str, torch.Tensor] = {}
    for name, state in engine.parameter_state():
        if writer:
            if not torch.isfinite(state["fp32"]).all():
                raise NonFiniteLossError(context.plan.num_steps, float("nan"))
            weights[name] = state["fp32"].to(dtype)
            for kind, value in state.items():
                writer.add(f"{name}|{kind}", value)
    if writer:
        writer.flush()
        training_state.save_weights(partial / "model", engine.module, weights)


def _progress(record: Record, num_steps: int) -> str:
    left = timedelta(seconds=round((num_steps - record["step"]) * record["step_seconds"]))
    return (
        f"step {record['step']}/{num_steps}  loss {record['loss']:.4f} (smoothed {record['smoothed_loss']:.4f})  "
        f"lr {record['lr']:.3g}  grad norm {record['grad_norm']:.3g}  {record['tokens_per_second']:,.0f} tokens/s  "
        f"{left} left"
    )
