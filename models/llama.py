"""Build a Llama from settings with transformers: RMSNorm, rotary embedding, SwiGLU, grouped-query attention.

The initial weights depend on the seed alone, not on what else drew random numbers before. Cost: the whole model in
fp32 on the CPU.
"""

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from models.config import ModelConfig


def build_llama(
    config: ModelConfig, vocab_size: int, sequence_length: int, seed: int, *, eos: int, pad: int
) -> LlamaForCausalLM:
    """Return a freshly initialised model; the same seed gives the same weights."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return LlamaForCausalLM(llama_config(config, vocab_size, sequence_length, eos=eos, pad=pad))


def llama_config(config: ModelConfig, vocab_size: int, sequence_length: int, *, eos: int, pad: int) -> LlamaConfig:
    """Return the transformers config that these settings mean."""
    shape = config.shape
    return LlamaConfig(
        vocab_size=vocab_size,
        hidden_size=shape.hidden_size,
        intermediate_size=shape.intermediate_size,
        num_hidden_layers=shape.num_layers,
        num_attention_heads=shape.num_heads,
        num_key_value_heads=shape.num_kv_heads,
        max_position_embeddings=sequence_length,
        rope_parameters={"rope_type": "default", "rope_theta": shape.rope_theta},
        tie_word_embeddings=shape.tie_embeddings,
        initializer_range=config.initializer_range,
        attention_dropout=0.0,
        rms_norm_eps=1e-5,
        bos_token_id=None,
        eos_token_id=eos,
        pad_token_id=pad,
        use_cache=False,
        attn_implementation="sdpa",
    )
