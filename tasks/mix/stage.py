"""Weights are shares of tokens; the plan is made, checked and stated before anything is written.

Property: asked tokens sum to the budget exactly (largest remainder); which documents are taken depends on the
seed, the source's name and the document alone, so adding or reordering a source changes no other's choice.
Cost: a sort per source.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import Field

from configs.base import Config
from tasks.core.errors import MixError
from tasks.core.seeds import fraction, hash64

VERSION = 1
VALIDATION = "validation"
TRAIN = "train"


class MixConfig(Config):
    """How much to take, how often a document may be seen, and what is held out."""

    num_tokens: int = Field(
        0, ge=0, description="Training tokens; 0: as many as the scarcest source allows within max_epochs."
    )
    max_epochs: float = Field(4.0, ge=0.01, le=100, description="How often a source may be repeated at most.")
    validation_share: float = Field(
        0.01,
        gt=0,
        lt=0.5,
        description="Share of each source's documents that is held out, by hash; stable over refreshes.",
    )
    seed: int = Field(42, ge=0, description="Seed of the choice and of the training order.")


@dataclass(frozen=True, slots=True)
class SourcePlan:
    """What one source gives: tokens asked, and epochs over the tokens it has."""

    source: str
    weight_declared: float
    weight_normalised: float
    tokens_available: int
    tokens_asked: int

    @property
    def epochs(self) -> float:
        """How often the source is seen."""
        return self.tokens_asked / self.tokens_available


def normalised(weights: Mapping[str, float]) -> dict[str, float]:
    """Return the weights divided by their sum (R-3.3-5)."""
    total = sum(weights.values())
    return {source: weight / total for source, weight in weights.items()}


def largest_remainder(shares: Mapping[str, float], total: int) -> dict[str, int]:
    """Split ``total`` by ``shares`` (summing to 1) into integers that sum to it exactly.

    The units left after rounding down go to the largest remainders; ties by name.
    """
    exact = {name: share * total for name, share in shares.items()}
    parts = {name: int(value) for name, value in exact.items()}
    by_remainder = sorted(exact, key=lambda name: (parts[name] - exact[name], name))
    for name in by_remainder[: total - sum(parts.values())]:
        parts[name] += 1
    return parts


def plan_mix(weights: Mapping[str, float], available: Mapping[str, int], config: MixConfig) -> list[SourcePlan]:
    """Share out the token budget, or say which source cannot give its share and what would work.

    Raises:
        MixError: a source has no tokens, or would be repeated more than ``max_epochs`` times.
    """
    shares = normalised(weights)
    for source in sorted(shares):
        if not available.get(source):
            raise MixError(
                f"mix: source {source}",
                "no training document is left after filtering",
                "look at its funnel, or remove the source",
            )
    possible = {source: int(available[source] * config.max_epochs / share) for source, share in shares.items()}
    scarcest = min(possible, key=lambda source: (possible[source], source))
    budget = config.num_tokens or possible[scarcest]
    asked = largest_remainder(shares, budget)
    if budget > possible[scarcest]:
        raise _impossible(scarcest, shares[scarcest], asked[scarcest], available[scarcest], budget, config)
    return [
        SourcePlan(source, weights[source], shares[source], available[source], asked[source])
        for source in sorted(shares)
    ]


def is_validation(seed: int, source: str, doc_id: bytes, share: float) -> bool:
    """Tell whether a kept document (the oldest of its duplicate cluster) is held out."""
    return fraction(seed, VALIDATION, source, doc_id) < share


def choose_documents(source: str, sizes: Sequence[tuple[bytes, int]], asked: int, seed: int) -> dict[bytes, int]:
    """Return how often each document is taken so that the tokens come close to ``asked``.

    Whole epochs first; what is left is filled in hash order with documents that still fit. The smallest of the others
    is taken too if that comes closer, which matters where all documents are long.
    """
    total = sum(size for _, size in sizes)
    epochs, left = divmod(asked, total)
    repeats = {doc_id: epochs for doc_id, _ in sizes} if epochs else {}
    others: list[tuple[int, bytes]] = []
    for doc_id, size in sorted(sizes, key=lambda item: (hash64(seed, "mix", source, item[0]), item[0])):
        if size <= left:
            repeats[doc_id] = repeats.get(doc_id, 0) + 1
            left -= size
        else:
            others.append((size, doc_id))
    if others and min(others)[0] < 2 * left:
        doc_id = min(others)[1]
        repeats[doc_id] = repeats.get(doc_id, 0) + 1
    return repeats


def _impossible(source: str, share: float, asked: int, available: int, budget: int, config: MixConfig) -> MixError:
    most = int(available * config.max_epochs / share)
    return MixError(
        f"mix: source {source}",
        f"{share:.1%} of {budget:,} tokens is {asked:,}, but it has {available:,} "
        f"({asked / available:.2f} epochs, max_epochs is {config.max_epochs:g})",
        f"set mix.num_tokens to at most {most:,}, or raise mix.max_epochs to {asked / available:.2f}, "
        f"or lower its share to {available * config.max_epochs / budget:.2%}, or add input",
    )
