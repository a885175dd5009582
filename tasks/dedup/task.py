"""Prefect's side of dedup: sign each input, then find the duplicates among all of them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from prefect import task
from prefect.cache_policies import NO_CACHE

from tasks.core.counts import Counts
from tasks.dedup import stage
from tasks.io.children import CHILDREN
from tasks.io.documents import StageOutput, chained_identity
from tasks.io.duplicates import DedupSteps, DuplicatesOutput, deduplicate_files, find_stored_duplicates
from tasks.io.environment import shaping
from tasks.io.signatures import SignatureOutput, signature_output, write_signatures
from tasks.io.store import Store


@task(name="sign", task_run_name="sign · {upstream.source}/{upstream.name}", cache_policy=NO_CACHE)
def sign_documents(store: Store, upstream: StageOutput, config: stage.DedupConfig) -> SignatureOutput:
    """Sign one input's documents, or find them signed."""
    settings = config.signature_settings()
    output = signature_output(
        upstream,
        chained_identity(
            upstream.identity,
            "sign",
            stage.SIGNATURE_VERSION,
            settings=settings,
            libraries=shaping("datasketch", "xxhash"),
        ),
    )
    if not store.exists(output.path):
        sign = partial(stage.sign, config=config)
        CHILDREN.call(write_signatures, store, upstream.kept_path, output.path, sign, config.num_permutations, settings)
    return output


@task(name="dedup", task_run_name="dedup · {config.scope}", cache_policy=NO_CACHE)
def find_duplicates(
    store: Store, documents: Sequence[StageOutput], signatures: Sequence[SignatureOutput], config: stage.DedupConfig
) -> DuplicatesOutput:
    """Find what goes among all inputs, or find it found; ``signatures`` are those of ``documents``, in their order."""
    made_of = sorted(f"{item.source}/{item.identity}" for item in signatures)
    identity = chained_identity("", stage.STAGE, stage.VERSION, config=config.identity(), signatures=made_of)
    steps = DedupSteps(
        find=partial(stage.find, config=config),
        shingle=partial(stage.shingles_in, config=config),
        num_permutations=config.num_permutations,
        settings=config.signature_settings(),
    )
    output = find_stored_duplicates(store, identity) or CHILDREN.call(
        deduplicate_files, store, identity, list(documents), list(signatures), steps
    )
    return replace(output, alarms=_alarms(output.counts, config.alarm_share))


def _alarms(counts: Mapping[str, Counts], limit: float) -> tuple[str, ...]:
    """Say which sources lost more than the limit."""
    return tuple(
        f"source {source}: dedup removed {1 - part.kept / part.seen:.1%} of {part.seen} documents (limit {limit:.0%})"
        for source, part in sorted(counts.items())
        if part.seen - part.kept > limit * part.seen
    )
