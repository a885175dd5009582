"""The part of a checkpoint that only training needs: parameters with optimizer state, trackers, RNG states. No pickle.

The state is canonical: per named parameter fp32 weight, exp_avg and exp_avg_sq, whole, in safetensors. Nothing in it
knows ranks or ZeRO stages, so any layout can continue from any other. Tensors are flushed in files of about a
gigabyte, so memory stays bounded while saving.
"""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from tasks.io.records import read_json, write_json
from tasks.io.store import Store

_FLUSH_BYTES = 1 << 30
_STATE = "state"


class TensorWriter:
    """Collects named tensors into numbered safetensors files below ``folder``."""

    def __init__(self, folder: Path, stem: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._stem = stem
        self._tensors: dict[str, torch.Tensor] = {}
        self._num_bytes = 0
        self._num_files = 0

    def add(self, name: str, tensor: torch.Tensor) -> None:
        """Take one tensor."""
        self._tensors[name] = tensor.detach().contiguous()
        self._num_bytes += tensor.numel() * tensor.element_size()
        if self._num_bytes >= _FLUSH_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write what was collected."""
        if self._tensors:
            save_file(self._tensors, self._folder / f"{self._stem}-{self._num_files:05d}.safetensors")
            self._tensors, self._num_bytes = {}, 0
            self._num_files += 1


def parameter_writer(checkpoint: Path) -> TensorWriter:
    """Return a writer for the canonical parameter state."""
    return TensorWriter(checkpoint / _STATE, "parameters")


def read_parameters(checkpoint: Path, kind: str) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield (parameter name, tensor) of one kind: ``fp32``, ``exp_avg`` or ``exp_avg_sq``."""
    for file in sorted((checkpoint / _STATE).glob("parameters-*.safetensors")):
        with safe_open(file, framework="pt") as tensors:
            for name in tensors.keys():
                parameter, _, found = name.rpartition("|")
                if found == kind:
                    yield parameter, tensors.get_tensor(name)


def write_trainer(checkpoint: Path, facts: dict[str, Any]) -> None:
    """Write the trackers and the data position."""
    write_json(checkpoint / _STATE / "trainer.json", facts)


def read_trainer(checkpoint: Path) -> dict[str, Any]:
    """Return the trackers and the data position."""
    return read_json(checkpoint / _STATE / "trainer.json")


def write_rng(checkpoint: Path, rank: int) -> None:
    """Write this rank's random states: random, numpy, torch and CUDA."""
    folder = checkpoint / _STATE
    folder.mkdir(parents=True, exist_ok=True)
    version, state, gauss = random.getstate()
    kind, keys, position, has_gauss, cached = np.random.get_state(legacy=True)
    plain = {
        "random": [version, list(state), gauss],
        "numpy": [str(kind), [int(key) for key in keys], int(position), int(has_gauss), float(cached)],
    }
    write_json(folder / f"rng-rank-{rank}.json", plain)
    tensors = {"torch": torch.get_rng_state()}
    if torch.cuda.is_available():
        tensors["cuda"] = torch.cuda.get_rng_state()
    save_file(tensors, folder / f"rng-rank-{rank}.safetensors")


def restore_rng(checkpoint: Path, rank: int) -> bool:
    """Restore this rank's random states; False when the checkpoint was made by fewer ranks."""
    folder = checkpoint / _STATE
    file = folder / f"rng-rank-{rank}.json"
    if not file.exists():
        return False
    plain = read_json(file)
    version, state, gauss = plain["random"]
    random.setstate((version, tuple(state), gauss))
    kind, keys, position, has_gauss, cached = plain["numpy"]
    np.random.set_state((kind, np.array(keys, dtype=np.uint32), position, has_gauss, cached))
    tensors = load_file(folder / f"rng-rank-{rank}.safetensors")
    torch.set_rng_state(tensors["torch"])
    if "cuda" in tensors and torch.cuda.is_available():
        torch.cuda.set_rng_state(tensors["cuda"])
    return True


def copy_tokenizer(store: Store, version: str, target: Path) -> None:
    """Put the data version's tokenizer beside the weights, so that ``from_pretrained`` finds it."""
    prefix = f"versions/{version}/tokenizer"
    target.mkdir(parents=True, exist_ok=True)
    for name in store.list(prefix):
        (target / name[len(prefix) + 1 :]).write_bytes(store.read_bytes(name))


def save_weights(folder: Path, model: Any, weights: dict[str, torch.Tensor]) -> None:  # noqa: ANN401 - untyped
    """Write whole weights (gathered from all ranks) with the model's config, as ``from_pretrained`` expects them."""
    model.save_pretrained(folder, state_dict=weights)
