"""Settings and arithmetic of evaluation: loss per target token, and bits per byte, which no tokenizer flatters."""

import math

from pydantic import Field

from configs.base import Config


class EvaluateConfig(Config):
    """What is measured at every kept checkpoint."""

    max_rows_per_source: int = Field(256, ge=0, description="Held-out rows per source, from the first on; 0: all.")
    batch_size: int = Field(8, ge=1, le=4096, description="Rows in one forward pass.")
    prompts: tuple[str, ...] = Field(
        ("The", "def main():", "To install the package,"), description="A greedy sample is recorded for each."
    )
    sample_tokens: int = Field(48, ge=0, le=4096, description="Tokens per sample; 0: no samples.")


def bits_per_byte(nats_per_token: float, num_tokens: int, num_bytes: int) -> float:
    """Return bits per UTF-8 byte: nats per token / (ln 2 x bytes per token)."""
    return nats_per_token * num_tokens / (math.log(2) * num_bytes)


def perplexity(nats_per_token: float) -> float:
    """Return e to the loss; infinite beyond what a float holds."""
    return math.exp(nats_per_token) if nats_per_token < 700 else math.inf
