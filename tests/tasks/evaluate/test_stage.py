"""Arithmetic of evaluation (REFERENCE C 4.7)."""

import math

import pytest

from tasks.evaluate.stage import bits_per_byte, perplexity


def test_two_nats_per_token_of_four_bytes_are_0_721348_bits_per_byte() -> None:
    assert bits_per_byte(2.0, num_tokens=1000, num_bytes=4000) == pytest.approx(0.721348, abs=5e-7)


def test_a_uniform_model_of_bytes_needs_eight_bits_per_byte() -> None:
    assert bits_per_byte(math.log(256), num_tokens=7, num_bytes=7) == pytest.approx(8.0)


def test_perplexity_of_a_uniform_model_is_its_vocabulary() -> None:
    assert perplexity(math.log(4096)) == pytest.approx(4096)
    assert perplexity(1e6) == math.inf
