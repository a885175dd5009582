"""DeepSpeed behind the loop's small Engine protocol, and the canonical state of every parameter.

The optimizer is torch's fused AdamW (DeepSpeed's CPU Adam with offload), created by us. State is read and set per
whole parameter through DeepSpeed's ``safe_get`` and ``safe_set`` functions, which makes it the same at every
ZeRO stage and world size. Cost of reading it: one parameter at a time is gathered.
"""

import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from models.packed import PackedInputs, logits_of, packed_inputs, summed_nll
from tasks.train.deepspeed_config import deepspeed_config
from tasks.train.stage import TrainConfig, TrainingPlan

STATE_KINDS = ("exp_avg", "exp_avg_sq")


@dataclass(frozen=True, slots=True)
class Batch:
    """A micro-batch as it was read; it goes to the device when it is used."""

    input_ids: Tensor
    segment_ids: Tensor

    @property
    def num_targets(self) -> int:
        """Positions that count in the loss."""
        same = self.segment_ids[:, 1:] == self.segment_ids[:, :-1]
        return int((same & (self.segment_ids[:, 1:] >= 0)).sum())

    def on(self, device: torch.device) -> PackedInputs:
        """Return the model inputs on a device."""
        return packed_inputs(self.input_ids.to(device), self.segment_ids.to(device))


class DeepSpeedEngine:
    """A model under DeepSpeed. Must be made on every rank, after :func:`init_distributed`."""

    def __init__(self, model: nn.Module, config: TrainConfig, plan: TrainingPlan, device: torch.device) -> None:
        import deepspeed

        self._config = config
        self._world_size = plan.world_size
        self._device = device
        optimizer = _optimizer(model, config)
        self._engine, _, _, _ = deepspeed.initialize(
            model=model, optimizer=optimizer, config=deepspeed_config(config, plan)
        )
        self.module: nn.Module = self._engine.module
        self._zero = self._engine.optimizer if config.zero_stage else None
        self._adam: Any = self._zero.optimizer if self._zero else self._engine.optimizer
        self._between = False
        self.set_num_updates(0)

    def reduce_sum(self, values: Sequence[float]) -> list[float]:
        """Add up numbers over all ranks, in double precision."""
        if self._world_size == 1:
            return [float(value) for value in values]
        total = torch.tensor([float(value) for value in values], dtype=torch.float64, device=self._device)
        torch.distributed.all_reduce(total)
        result: list[float] = total.tolist()
        return result

    def barrier(self) -> None:
        """Wait for all ranks."""
        self.reduce_sum([0.0])

    def train_micro(self, batch: Batch, scale: float) -> float:
        """Forward and backward of ``scale`` x summed nll; return this rank's summed nll."""
        if self._between:
            self._engine.step()  # ends the previous micro-batch; updates only at the last one
        self._between = True
        inputs = batch.on(self._device)
        nll = summed_nll(logits_of(self._engine, inputs), inputs.targets)
        self._engine.backward(nll * scale)
        return float(nll.detach())

    def update(self, learning_rate: float) -> tuple[float, bool]:
        """Do the optimizer step; return the global gradient norm (before clipping) and whether it was applied."""
        for group in self._engine.optimizer.param_groups:
            group["lr"] = learning_rate
        norm = self._plain_gradient_norm() if self._zero is None else None
        self._engine.step()
        self._between = False
        return float(self._engine.get_global_grad_norm() if norm is None else norm), bool(
            self._engine.was_step_applied()
        )

    def parameter_state(self) -> Iterator[tuple[str, dict[str, Tensor]]]:
        """Yield each parameter's name and its whole fp32, exp_avg and exp_avg_sq on the CPU. All ranks must iterate."""
        from deepspeed.utils import safe_get_full_fp32_param, safe_get_full_optimizer_state

        for name, parameter in self.module.named_parameters():
            if self._zero is None:
                state = {"fp32": parameter, **{kind: self._adam.state[parameter][kind] for kind in STATE_KINDS}}
            else:
                state = {"fp32": safe_get_full_fp32_param(parameter)}
                state |= {kind: safe_get_full_optimizer_state(parameter, kind) for kind in STATE_KINDS}
            yield name, {kind: value.detach().cpu().clone() for kind, value in state.items()}

    def num_updates(self) -> float:
        """Return how many updates Adam has done."""
        return float(next(iter(self._adam.state.values()))["step"])

    def load_state(self, kind: str, values: Iterator[tuple[str, Tensor]]) -> None:
        """Set one kind of state ("fp32", "exp_avg", "exp_avg_sq") of every parameter from whole tensors."""
        parameters = dict(self.module.named_parameters())
        for name, value in values:
            self._set(parameters.pop(name), kind, value.to(self._device))
        if parameters:
            raise KeyError(f"the checkpoint has no {kind} of {sorted(parameters)}")

    def _set(self, parameter: nn.Parameter, kind: str, value: Tensor) -> None:
        from deepspeed.utils import safe_set_full_fp32_param, safe_set_full_optimizer_state

        if self._config.zero_stage == 3:
            self._set_partition(parameter, kind, value)
        elif self._zero is None:
            target = parameter.data if kind == "fp32" else self._adam.state[parameter][kind]
            target.copy_(value)
        elif kind == "fp32":
            safe_set_full_fp32_param(parameter, value)
        else:
            safe_set_full_optimizer_state(parameter, value, kind)

    def _set_partition(self, parameter: nn.Parameter, kind: str, value: Tensor) -> None:
        """Set this rank's part at stage 3, where parts are padded to equal size."""
        from deepspeed.utils import safe_set_local_fp32_param, safe_set_local_optimizer_state

        size: int = parameter.ds_tensor.numel()  # type: ignore[attr-defined]
        padded = nn.functional.pad(value.flatten(), (0, size * self._world_size - value.numel()))
        rank = torch.distributed.get_rank()
        part = padded[rank * size : (rank + 1) * size]
        if kind == "fp32":
            safe_set_local_fp32_param(parameter, part)
        else:
            safe_set_local_optimizer_state(parameter, part, kind)

    def set_num_updates(self, num_updates: float) -> None:
        """Set Adam's count of updates; its state is made here, before its first step, so that it can be set."""
        for parameter in self._adam_parameters():
            state = self._adam.state[parameter]
            for kind in STATE_KINDS:
                if kind not in state:
                    state[kind] = torch.zeros_like(parameter, memory_format=torch.preserve_format)
            offloaded = self._config.offload_optimizer
            state["step"] = int(num_updates) if offloaded else torch.tensor(float(num_updates)).to(parameter.device)
        if self._config.zero_stage in (1, 2):
            self._engine.optimizer._lazy_init_hp_params_optimizer_state()

    def _adam_parameters(self) -> list[Tensor]:
        if self._zero is None:
            return list(self.module.parameters())
        flat = "fp32_partitioned_groups_flat" if self._config.zero_stage == 3 else "single_partition_of_fp32_groups"
        return list(getattr(self._zero, flat))

    def _plain_gradient_norm(self) -> Tensor:
        gradients = [parameter.grad for parameter in self.module.parameters() if parameter.grad is not None]
        return nn.utils.get_total_norm(gradients)


def init_distributed(device: torch.device, rank: int, world_size: int, meeting_point: str) -> None:
    """Join the process group through a file: no port is opened beyond the loopback interface."""
    import deepspeed
    import deepspeed.ops

    # An operation for inference that would be compiled at every first start, and never returns on a stale lock.
    deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False
    warnings.filterwarnings("ignore", category=FutureWarning, module=r"torch\.distributed.*")
    deepspeed.init_distributed(
        dist_backend="gloo" if device.type == "cpu" else "nccl",
        auto_mpi_discovery=False,
        init_method=f"file://{meeting_point}",
        rank=rank,
        world_size=world_size,
    )


def parameter_groups(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Split parameters: matrices decay, embeddings and norms do not."""
    named = dict(model.named_parameters())
    plain = [name for name, value in named.items() if value.ndim < 2 or "embed_tokens" in name]
    groups: Mapping[float, list[nn.Parameter]] = {
        weight_decay: [value for name, value in named.items() if name not in plain],
        0.0: [named[name] for name in plain],
    }
    return [{"params": values, "weight_decay": decay} for decay, values in groups.items() if values]


def _optimizer(model: nn.Module, config: TrainConfig) -> torch.optim.Optimizer:
    part = config.optimizer
    groups = parameter_groups(model, part.weight_decay)
    betas = (part.beta1, part.beta2)
    if config.offload_optimizer:
        from deepspeed.ops.adam import DeepSpeedCPUAdam

        print("compiling or loading DeepSpeed's CPU Adam (minutes at its first use)", file=sys.stdout, flush=True)
        adam: torch.optim.Optimizer = DeepSpeedCPUAdam(groups, lr=0.0, betas=betas, eps=part.epsilon, adamw_mode=True)
        return adam
    return torch.optim.AdamW(groups, lr=0.0, betas=betas, eps=part.epsilon, fused=True)
