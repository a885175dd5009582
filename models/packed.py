"""The forward pass over packed rows: several documents in a row that do not see each other.

Position ids restart with each segment, and an explicit block-diagonal causal mask keeps segments apart (restarting
positions alone would not). Targets are the next token of the same segment, so EOS is learnt and nothing is predicted
across a border. Padding sees itself only and has no target. :func:`check_isolation` proves it on the model in hand.
Cost: one boolean mask of batch x length x length, and the logits in fp32.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

IGNORED = -100
PADDING = -1
_MAX_LEAK = 1e-5


@dataclass(frozen=True, slots=True)
class PackedInputs:
    """What the model takes, and the targets: ids, positions and targets are batch x length."""

    input_ids: Tensor
    position_ids: Tensor
    attention_mask: Tensor
    targets: Tensor

    @property
    def num_targets(self) -> int:
        """Positions that count in the loss."""
        return int((self.targets != IGNORED).sum())


class IsolationError(RuntimeError):
    """Documents packed into one row see each other: a bug in the model or the attention implementation."""


def packed_inputs(input_ids: Tensor, segment_ids: Tensor) -> PackedInputs:
    """Return model inputs for rows; ``segment_ids`` number the segments of a row, and are -1 at padding."""
    length = input_ids.shape[1]
    steps = torch.arange(length, device=input_ids.device)
    starts = torch.ones_like(segment_ids, dtype=torch.bool)
    starts[:, 1:] = segment_ids[:, 1:] != segment_ids[:, :-1]
    position_ids = steps - torch.where(starts, steps, 0).cummax(dim=1).values
    same = segment_ids.unsqueeze(2) == segment_ids.unsqueeze(1)
    causal = steps.unsqueeze(1) >= steps.unsqueeze(0)
    real = (segment_ids != PADDING).unsqueeze(2)
    mask = (same & causal & real) | torch.eye(length, dtype=torch.bool, device=input_ids.device)
    targets = torch.full_like(input_ids, IGNORED)
    follows = (segment_ids[:, 1:] == segment_ids[:, :-1]) & (segment_ids[:, 1:] != PADDING)
    targets[:, :-1] = torch.where(follows, input_ids[:, 1:], IGNORED)
    return PackedInputs(input_ids, position_ids, mask.unsqueeze(1), targets)


def logits_of(model: Any, inputs: PackedInputs) -> Tensor:  # noqa: ANN401 - a transformers model or an engine around it
    """Run the model on packed rows and return its logits."""
    logits: Tensor = model(
        input_ids=inputs.input_ids,
        position_ids=inputs.position_ids,
        attention_mask=inputs.attention_mask,
        use_cache=False,
    ).logits
    return logits


def summed_nll(logits: Tensor, targets: Tensor) -> Tensor:
    """Return the sum of negative log-likelihoods over all targets, in fp32; 0 when there is none."""
    flat = logits.float().flatten(0, 1)
    return functional.cross_entropy(flat, targets.flatten(), ignore_index=IGNORED, reduction="sum")


@torch.no_grad()
def check_isolation(model: Any, vocab_size: int, length: int = 24) -> float:  # noqa: ANN401 - as above
    """Return by how much the logits of a document change when its neighbours in the row change.

    Raises:
        IsolationError: by more than rounding; or the model is not causal within a document.
    """
    device = next(model.parameters()).device
    generator = torch.Generator().manual_seed(0)
    row = torch.randint(0, vocab_size, (1, length), generator=generator).to(device)
    third = length // 3
    segments = torch.tensor([[0] * third + [1] * third + [PADDING] * (length - 2 * third)], device=device)
    changed = row.clone()
    changed[:, :third] = (row[:, :third] + 1) % vocab_size
    changed[:, 2 * third - 1 :] = (row[:, 2 * third - 1 :] + 1) % vocab_size
    was_training = model.training
    model.eval()
    before, after = (logits_of(model, packed_inputs(ids, segments))[:, third : 2 * third - 1] for ids in (row, changed))
    model.train(was_training)
    leak = float((before.float() - after.float()).abs().max())
    if not leak <= _MAX_LEAK:
        raise IsolationError(f"logits of a packed document change by {leak:g} when its neighbours change")
    return leak
