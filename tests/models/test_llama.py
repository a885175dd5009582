"""What is built is the Llama that the settings and counts say (R-4.1)."""

import pytest
import torch
from transformers import LlamaForCausalLM

from models.config import ModelConfig, num_parameters
from models.llama import build_llama


def build(config: ModelConfig, seed: int = 0, vocab_size: int = 256) -> LlamaForCausalLM:
    return build_llama(config, vocab_size, 64, seed, eos=1, pad=2)


@pytest.mark.parametrize("embeddings", ["tied", "untied"])
def test_the_built_model_has_the_counted_parameters(embeddings: str) -> None:
    config = ModelConfig(size="tiny", embeddings=embeddings)
    assert sum(p.numel() for p in build(config).parameters()) == num_parameters(config.shape, 256)


def test_r_4_1_norms_are_rms_without_bias_and_feed_forward_is_swiglu() -> None:
    model = build(ModelConfig(size="tiny"))
    names = [name for name, _ in model.named_parameters()]
    assert not [name for name in names if "bias" in name]
    layer = model.model.layers[0].mlp
    x = torch.randn(3, 64)
    expected = layer.down_proj(torch.nn.functional.silu(layer.gate_proj(x)) * layer.up_proj(x))
    torch.testing.assert_close(layer(x), expected)
    scaled = model.model.norm(5 * x)
    torch.testing.assert_close(scaled, model.model.norm(x), atol=1e-4, rtol=1e-4)


def test_the_seed_alone_decides_the_initial_weights() -> None:
    first = build(ModelConfig(size="tiny")).state_dict()
    torch.randn(7)
    second = build(ModelConfig(size="tiny")).state_dict()
    other = build(ModelConfig(size="tiny"), seed=1).state_dict()
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not torch.equal(first["model.embed_tokens.weight"], other["model.embed_tokens.weight"])


def test_special_tokens_and_length_are_set() -> None:
    config = build(ModelConfig(size="tiny")).config
    assert (config.bos_token_id, config.eos_token_id, config.pad_token_id) == (None, 1, 2)
    assert config.max_position_embeddings == 64
