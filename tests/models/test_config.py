"""Parameter and FLOP counts against published models (REFERENCE C 4.1, 4.2)."""

import pytest

from configs.base import ConfigFileError
from models.config import SIZES, ModelConfig, ModelShape, flops_per_token, num_parameters

PUBLISHED = {
    "Llama-2-7B": (32000, ModelShape(4096, 32, 32, 32, 11008, False), 6_738_415_616),
    "Llama-2-13B": (32000, ModelShape(5120, 40, 40, 40, 13824, False), 13_015_864_320),
    "Llama-2-70B": (32000, ModelShape(8192, 80, 64, 8, 28672, False), 68_976_648_192),
    "Llama-3-8B": (128256, ModelShape(4096, 32, 32, 8, 14336, False), 8_030_261_248),
    "Llama-3-70B": (128256, ModelShape(8192, 80, 64, 8, 28672, False), 70_553_706_496),
    "Llama-3.1-405B": (128256, ModelShape(16384, 126, 128, 8, 53248, False), 405_853_388_800),
    "Llama-3.2-1B": (128256, ModelShape(2048, 16, 32, 8, 8192, True), 1_235_814_400),
    "TinyLlama": (32000, ModelShape(2048, 22, 32, 4, 5632, False), 1_100_048_384),
    "SmolLM2-135M": (49152, ModelShape(576, 30, 9, 3, 1536, True), 134_515_008),
    "SmolLM2-360M": (49152, ModelShape(960, 32, 15, 5, 2560, True), 361_821_120),
    "SmolLM2-1.7B": (49152, ModelShape(2048, 24, 32, 32, 8192, True), 1_711_376_384),
    "SmolLM3-3B": (128256, ModelShape(2048, 36, 16, 4, 11008, True), 3_075_098_624),
    "tiny A": (256, SIZES["tiny"], 107_328),
    "tiny B": (4096, SIZES["demo"], 1_262_720),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_parameter_counts_equal_the_published_ones(name: str) -> None:
    vocab_size, shape, expected = PUBLISHED[name]
    assert num_parameters(shape, vocab_size) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Llama-2-7B", 4.365172e10),
        ("Llama-3-8B", 5.140279e10),
        ("TinyLlama", 7.707587e9),
        ("SmolLM2-135M", 1.231763e9),
        ("tiny A", 3.789696e6),
        ("tiny B", 2.015923e7),
    ],
)
def test_flops_per_token_at_2048_equal_the_worked_values(name: str, expected: float) -> None:
    vocab_size, shape, _ = PUBLISHED[name]
    assert flops_per_token(shape, vocab_size, 2048) == pytest.approx(expected, rel=1e-6)


def test_a_given_field_replaces_that_of_the_named_size_and_zero_keeps_it() -> None:
    shape = ModelConfig(size="demo", num_layers=6, embeddings="untied").shape
    assert shape == ModelShape(128, 6, 4, 2, 352, False)


def test_sizes_bear_their_names_within_a_fifth() -> None:
    for size, millions in (("125m", 125e6), ("350m", 350e6), ("1b3", 1.3e9), ("7b", 7e9)):
        assert num_parameters(ModelConfig(size=size).shape, 32_000) == pytest.approx(millions, rel=0.2), size


@pytest.mark.parametrize("wrong", [{"num_kv_heads": 3}, {"hidden_size": 130}, {"hidden_size": 12}])
def test_r_4_1_5_shapes_that_do_not_divide_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ConfigFileError, match="num_heads"):
        ModelConfig.checked(wrong, where="model")
