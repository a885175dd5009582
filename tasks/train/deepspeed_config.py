"""From settings to DeepSpeed's dictionary: pure, every value stated, nothing left to DeepSpeed's defaults that matters.

Optimizer and learning rate are ours (a torch optimizer, set per step), so the dictionary has neither; except that
offload needs DeepSpeed's CPU Adam, which is named here.
"""

from typing import Any

from tasks.train.stage import TrainConfig, TrainingPlan

_NEVER = 1 << 60


def deepspeed_config(config: TrainConfig, plan: TrainingPlan) -> dict[str, Any]:
    """Return the dictionary for ``deepspeed.initialize``; only one of fp16 and bf16 can be in it."""
    zero: dict[str, Any] = {"stage": config.zero_stage}
    result: dict[str, Any] = {
        "train_batch_size": config.global_batch_size,
        "train_micro_batch_size_per_gpu": config.micro_batch_size,
        "gradient_accumulation_steps": plan.gradient_accumulation_steps,
        "gradient_clipping": config.optimizer.gradient_clipping,
        "zero_optimization": zero,
        "steps_per_print": _NEVER,
        "wall_clock_breakdown": False,
    }
    if config.offload_optimizer:
        zero["offload_optimizer"] = {"device": "cpu"}
    if config.precision == "bf16":
        result["bf16"] = {"enabled": True}
    if config.precision == "fp16":
        result["fp16"] = {"enabled": True, "loss_scale": 0, "loss_scale_window": 1000}
    return result
