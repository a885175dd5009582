"""What settings mean, and which are refused."""

from typing import Any

import pytest

from configs.base import ConfigFileError
from tasks.core.errors import InputError
from tasks.train.stage import DataFacts, TrainConfig, check_device, plan_training, schedule_of, warnings_for

DATA = DataFacts("tiny-123", num_rows=100_000_000, num_tokens=1, sequence_length=2048, vocab_size=32_000)
ARTICLE = {
    "max_steps": 50_000, "global_batch_size": 128, "micro_batch_size": 8, "learning_rate": 2e-4, "save_steps": 2000,
}  # fmt: skip


def config(**changes: Any) -> TrainConfig:
    return TrainConfig.checked({**ARTICLE, **changes}, where="test")


def test_r_4_2_3_and_r_4_2_6_the_worked_batch_arithmetic() -> None:
    plan = plan_training(config(), DATA, world_size=1)
    assert plan.gradient_accumulation_steps == 16
    assert plan.tokens_per_micro_batch == 8 * 2048
    assert plan.global_batch_tokens == 262_144
    assert plan.total_tokens == 13_107_200_000
    assert not plan.warnings


def test_r_4_2_13_accumulation_takes_the_world_size_into_account() -> None:
    assert plan_training(config(), DATA, world_size=4).gradient_accumulation_steps == 4


def test_a_token_budget_is_rounded_up_to_whole_steps() -> None:
    assert plan_training(config(max_steps=0, max_tokens=262_144 * 3000 + 1), DATA, 1).num_steps == 3001


def test_layout_is_not_part_of_the_identity_but_what_shapes_the_result_is() -> None:
    same = config(micro_batch_size=4, num_ranks=2, zero_stage=2, save_steps=7, logging_steps=1, keep_checkpoints=9)
    assert same.fingerprint() == config().fingerprint()
    for change in ({"learning_rate": 3e-4}, {"seed": 1}, {"global_batch_size": 256}, {"precision": "fp32"}):
        assert config(**change).fingerprint() != config().fingerprint()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"max_tokens": 5}, "one of max_steps and max_tokens"),
        ({"max_steps": 0}, "one of max_steps and max_tokens"),
        ({"micro_batch_size": 7}, "no multiple of micro_batch_size"),
        ({"save_steps": 0}, "save_steps"),  # R-5.5-6
        ({"zero_stage": 0}, "bf16 needs zero_stage 1"),
        ({"zero_stage": 0, "precision": "fp32", "offload_optimizer": True}, "offload_optimizer needs"),
        ({"precision": "both"}, "precision"),  # R-4.3-1: fp16 and bf16 together cannot be said
    ],
)
def test_settings_that_cannot_work_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigFileError, match=message):
        config(**changes)


def test_r_4_3_7_a_global_batch_that_ranks_cannot_share_is_refused_with_one_they_can() -> None:
    with pytest.raises(InputError, match="use global_batch_size 144"):
        plan_training(config(), DATA, world_size=3)


def test_b56_a_budget_beyond_the_data_is_refused_before_the_start_with_the_steps_there_are() -> None:
    """2,000 tokens of data, 10,000 asked for."""
    data = DataFacts("v", num_rows=20, num_tokens=2000, sequence_length=100, vocab_size=64)
    small = config(max_steps=0, max_tokens=10_000, max_epochs=1, global_batch_size=2, micro_batch_size=1)
    with pytest.raises(InputError, match="at most 10 steps"):
        plan_training(small, data, 1)


def test_an_empty_version_and_a_warm_up_that_fills_the_run_are_refused() -> None:
    with pytest.raises(InputError, match="no training rows"):
        plan_training(config(), DataFacts("v", 0, 0, 2048, 64), 1)
    with pytest.raises(InputError, match="warmup_steps"):
        plan_training(config(max_steps=2000), DATA, 1)
    with pytest.raises(InputError, match="warm-up and decay"):
        plan_training(config(max_steps=2100, schedule={"name": "wsd", "warmup_steps": 2000}), DATA, 1)


def test_r_4_2_4_and_r_4_2_12_unusual_settings_are_warned_about() -> None:
    unusual = config(learning_rate=1e-2, schedule={"warmup_steps": 0}, optimizer={"gradient_clipping": 0})
    assert [text.split()[0] for text in warnings_for(unusual)] == [
        "learning_rate", "warmup_steps", "gradient_clipping",
    ]  # fmt: skip


def test_the_schedule_takes_its_decay_as_a_share_of_the_run() -> None:
    schedule = schedule_of(config(schedule={"name": "wsd", "decay_share": 0.1}), 50_000)
    assert (schedule.decay, schedule.warmup, schedule.total) == (5000, 2000, 50_000)


def test_fp16_needs_a_gpu() -> None:
    with pytest.raises(InputError, match="bf16 or fp32"):
        check_device(config(precision="fp16"), gpu=False)
    check_device(config(precision="fp16"), gpu=True)
