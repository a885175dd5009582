"""Model settings and named sizes; exact counts of parameters and FLOPs, without building anything.

A size is a name; any field that is not 0 replaces that field of the size. Parameters follow the Llama formula with
tied embeddings counted once, FLOPs per token are ``6 N + 12 L H Q T`` with N all parameters.
"""

from dataclasses import dataclass, replace
from typing import Literal, Self

from pydantic import Field, model_validator

from configs.base import Config

Size = Literal["tiny", "demo", "125m", "350m", "1b3", "7b"]
_OVERRIDES = ("hidden_size", "num_layers", "num_heads", "num_kv_heads", "intermediate_size", "rope_theta")


@dataclass(frozen=True, slots=True)
class ModelShape:
    """The resolved shape of a Llama: what the counts and the builder need."""

    hidden_size: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    intermediate_size: int
    tie_embeddings: bool
    rope_theta: float = 10_000.0

    @property
    def head_size(self) -> int:
        """Dimensions of one attention head."""
        return self.hidden_size // self.num_heads


SIZES: dict[Size, ModelShape] = {
    "tiny": ModelShape(64, 2, 4, 2, 172, True),
    "demo": ModelShape(128, 4, 4, 2, 352, True),
    "125m": ModelShape(768, 12, 12, 4, 2048, True),
    "350m": ModelShape(1024, 24, 16, 4, 2816, True),
    "1b3": ModelShape(2048, 22, 32, 8, 5632, False, 500_000.0),
    "7b": ModelShape(4096, 32, 32, 8, 14_336, False, 500_000.0),
}


class ModelConfig(Config):
    """A Llama: a named size, and the fields of it that shall differ."""

    size: Size = Field("demo", description="Named size that every field below with 0 is taken from.")
    hidden_size: int = Field(0, ge=0, le=65_536, description="Width; 0: from the size.")
    num_layers: int = Field(0, ge=0, le=512, description="Decoder layers; 0: from the size.")
    num_heads: int = Field(0, ge=0, le=1024, description="Query heads; 0: from the size.")
    num_kv_heads: int = Field(0, ge=0, le=1024, description="Key and value heads; 0: from the size.")
    intermediate_size: int = Field(0, ge=0, le=262_144, description="Width of the SwiGLU block; 0: from the size.")
    embeddings: Literal["from_size", "tied", "untied"] = Field(
        "from_size", description="Whether output and input embeddings are one matrix."
    )
    rope_theta: float = Field(0.0, ge=0, le=1e9, description="Base of the rotary embedding; 0: from the size.")
    initializer_range: float = Field(0.02, gt=0, le=1, description="Standard deviation of the initial weights.")

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        shape = self.shape
        if shape.hidden_size % shape.num_heads or shape.head_size % 2:
            raise ValueError(f"hidden_size {shape.hidden_size} must be an even multiple of num_heads {shape.num_heads}")
        if shape.num_heads % shape.num_kv_heads:
            raise ValueError(f"num_kv_heads {shape.num_kv_heads} must divide num_heads {shape.num_heads}")
        return self

    @property
    def shape(self) -> ModelShape:
        """The named size with the given fields in place of its own."""
        base = SIZES[self.size]
        changes = {name: getattr(self, name) for name in _OVERRIDES if getattr(self, name)}
        tied = base.tie_embeddings if self.embeddings == "from_size" else self.embeddings == "tied"
        return replace(base, tie_embeddings=tied, **changes)


def num_parameters(shape: ModelShape, vocab_size: int) -> int:
    """Return the exact number of parameters, tied embeddings counted once."""
    hidden, kv = shape.hidden_size, shape.num_kv_heads * shape.head_size
    attention = 2 * hidden * hidden + 2 * hidden * kv
    layer = attention + 3 * hidden * shape.intermediate_size + 2 * hidden
    embeddings = vocab_size * hidden * (1 if shape.tie_embeddings else 2)
    return embeddings + shape.num_layers * layer + hidden


def flops_per_token(shape: ModelShape, vocab_size: int, sequence_length: int) -> int:
    """Return training FLOPs (forward and backward) per token, attention over the whole sequence included."""
    attention = 12 * shape.num_layers * shape.num_heads * shape.head_size * sequence_length
    return 6 * num_parameters(shape, vocab_size) + attention
