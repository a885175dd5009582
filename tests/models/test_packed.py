"""Packed documents do not see each other, and the targets are the right ones."""

import math

import pytest
import torch

from models.config import ModelConfig
from models.llama import build_llama
from models.packed import IGNORED, IsolationError, PackedInputs, check_isolation, logits_of, packed_inputs, summed_nll

VOCAB = 256


@pytest.fixture(scope="module")
def model() -> torch.nn.Module:
    return build_llama(ModelConfig(size="tiny"), VOCAB, 64, 0, eos=1, pad=0).eval()


def test_positions_restart_and_eos_is_a_target_but_nothing_across_a_border() -> None:
    """B51: pad may equal EOS (here 2); the last token of a segment and padding have no target."""
    inputs = packed_inputs(torch.tensor([[5, 6, 2, 8, 2, 2]]), torch.tensor([[0, 0, 0, 1, 1, -1]]))
    assert inputs.position_ids.tolist() == [[0, 1, 2, 0, 1, 0]]
    assert inputs.targets.tolist() == [[6, 2, IGNORED, 2, IGNORED, IGNORED]]
    assert inputs.num_targets == 3


def test_the_mask_is_block_diagonal_causal_and_padding_sees_itself() -> None:
    mask = packed_inputs(torch.zeros(1, 5, dtype=torch.long), torch.tensor([[0, 0, 1, -1, -1]])).attention_mask
    expected = [[1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 0, 1, 0], [0, 0, 0, 0, 1]]
    assert mask[0, 0].int().tolist() == expected


@pytest.mark.parametrize("padding", [0, 7])
def test_b53_a_packed_document_has_the_logits_it_has_alone(model: torch.nn.Module, padding: int) -> None:
    first, second = torch.randint(0, VOCAB, (1, 20)), torch.randint(0, VOCAB, (1, 20))
    row = torch.cat([first, second, torch.zeros(1, padding, dtype=torch.long)], dim=1)
    segments = torch.tensor([[0] * 20 + [1] * 20 + [-1] * padding])
    packed = logits_of(model, packed_inputs(row, segments))
    alone = logits_of(model, packed_inputs(second, torch.zeros_like(second)))
    torch.testing.assert_close(packed[:, 20:40], alone, atol=1e-5, rtol=1e-5)
    assert torch.isfinite(packed).all()


def test_r_4_1_1_a_later_token_does_not_change_earlier_logits(model: torch.nn.Module) -> None:
    row = torch.randint(0, VOCAB, (1, 16))
    changed = row.clone()
    changed[0, 9] = (row[0, 9] + 1) % VOCAB
    one = torch.zeros_like(row)
    before, after = logits_of(model, packed_inputs(row, one)), logits_of(model, packed_inputs(changed, one))
    torch.testing.assert_close(before[:, :9], after[:, :9], atol=1e-6, rtol=0)
    assert not torch.allclose(before[:, 9:], after[:, 9:])


def test_the_self_test_passes_on_our_model_and_catches_a_merely_causal_mask(model: torch.nn.Module) -> None:
    assert check_isolation(model, VOCAB) <= 1e-5

    class Leaky(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = model

        def forward(self, **arguments: torch.Tensor) -> object:
            causal = torch.ones_like(arguments["attention_mask"]).tril()
            return self.inner(**{**arguments, "attention_mask": causal})

    with pytest.raises(IsolationError, match="neighbours"):
        check_isolation(Leaky(), VOCAB)


def test_uniform_logits_give_the_logarithm_of_the_vocabulary_per_target() -> None:
    inputs = PackedInputs(*[torch.zeros(1)] * 3, targets=torch.tensor([[3, IGNORED, 7, 0]]))
    nll = summed_nll(torch.zeros(1, 4, VOCAB, dtype=torch.bfloat16), inputs.targets)
    assert float(nll) / inputs.num_targets == pytest.approx(math.log(VOCAB), rel=1e-6)
    assert nll.dtype == torch.float32


def test_a_fresh_model_starts_near_the_logarithm_of_the_vocabulary(model: torch.nn.Module) -> None:
    """REFERENCE C 4.7: within 1 %."""
    rows = torch.randint(0, VOCAB, (4, 64))
    inputs = packed_inputs(rows, torch.zeros_like(rows))
    with torch.no_grad():
        loss = float(summed_nll(logits_of(model, inputs), inputs.targets)) / inputs.num_targets
    assert loss == pytest.approx(math.log(VOCAB), rel=0.01)


def test_no_target_at_all_gives_zero_not_nan() -> None:
    assert float(summed_nll(torch.zeros(1, 2, 8), torch.full((1, 2), IGNORED))) == 0.0
