"""What accelerators this machine offers to a launch."""


def num_gpus() -> int:
    """Return the CUDA devices that torch can use here (importing torch takes a second)."""
    import torch

    return torch.cuda.device_count()
