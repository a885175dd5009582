"""The dictionary that DeepSpeed gets, in full."""

from typing import Any

import pytest

from tasks.train.deepspeed_config import deepspeed_config
from tasks.train.stage import DataFacts, TrainConfig, plan_training

DATA = DataFacts("v", 100_000_000, 1, 2048, 32_000)


def result(world_size: int = 1, **changes: Any) -> dict[str, Any]:
    values = {"max_steps": 50_000, "global_batch_size": 128, "micro_batch_size": 8, **changes}
    config = TrainConfig.checked(values, where="test")
    return deepspeed_config(config, plan_training(config, DATA, world_size))


def test_r_4_3_7_the_article_settings_give_this_dictionary() -> None:
    assert result(zero_stage=2, offload_optimizer=True) == {
        "train_batch_size": 128,
        "train_micro_batch_size_per_gpu": 8,
        "gradient_accumulation_steps": 16,
        "gradient_clipping": 1.0,
        "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}},
        "steps_per_print": 1 << 60,
        "wall_clock_breakdown": False,
        "bf16": {"enabled": True},
    }


def test_r_4_3_1_fp16_scales_the_loss_dynamically_and_excludes_bf16() -> None:
    half = result(precision="fp16")
    assert half["fp16"] == {"enabled": True, "loss_scale": 0, "loss_scale_window": 1000}
    assert "bf16" not in half
    assert not {"bf16", "fp16"} & result(precision="fp32", zero_stage=0).keys()


@pytest.mark.parametrize("world_size", [1, 2, 4])
def test_the_batch_is_micro_times_accumulation_times_world(world_size: int) -> None:
    found = result(world_size)
    product = found["train_micro_batch_size_per_gpu"] * found["gradient_accumulation_steps"] * world_size
    assert product == found["train_batch_size"] == 128
