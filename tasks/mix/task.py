"""Prefect task: plan the mix, and state it before anything is packed."""

from collections.abc import Mapping, Sequence

from prefect import task
from prefect.cache_policies import NO_CACHE

from tasks.core.errors import MixError
from tasks.core.manifest import MixRecord
from tasks.io.documents import chained_identity
from tasks.io.duplicates import removed_ids
from tasks.io.plans import Choice, Plan, Size, document_sizes, find_plan, write_plan
from tasks.io.store import Store
from tasks.io.tokens import TokensOutput
from tasks.mix import stage
from tasks.mix.stage import MixConfig, SourcePlan


@task(name="mix", task_run_name="mix · plan {config.num_tokens} tokens", cache_policy=NO_CACHE)
def plan_mix(
    store: Store,
    outputs: Sequence[TokensOutput],
    duplicates_path: str,
    weights: Mapping[str, float],
    config: MixConfig,
) -> Plan:
    """Split off validation, share out the token budget and choose documents; an impossible mix stops here."""
    identity = chained_identity(
        duplicates_path, "mix", stage.VERSION,
        tokens=sorted(output.path for output in outputs), weights=dict(weights), config=config.identity(),
    )  # fmt: skip
    if found := find_plan(store, identity):
        return found
    sizes = document_sizes(store, outputs, removed_ids(store, duplicates_path))
    held_out = {source: _held_out(source, sizes[source], config) for source in sizes}
    pools = {source: [size for size in sizes[source] if size.doc_id not in held_out[source]] for source in sizes}
    available = {source: sum(size.num_tokens for size in pool) for source, pool in pools.items()}
    plans = stage.plan_mix(weights, available, config)
    choices = {plan.source: _choose(plan, pools[plan.source], held_out[plan.source], config) for plan in plans}
    return write_plan(store, identity, outputs, sizes, choices, _records(plans, pools, choices))


def _held_out(source: str, sizes: Sequence[Size], config: MixConfig) -> frozenset[bytes]:
    share, seed = config.validation_share, config.seed
    return frozenset(size.doc_id for size in sizes if stage.is_validation(seed, source, size.doc_id, share))


def _choose(plan: SourcePlan, pool: Sequence[Size], held_out: frozenset[bytes], config: MixConfig) -> Choice:
    sizes = [(size.doc_id, size.num_tokens) for size in pool]
    return Choice(stage.choose_documents(plan.source, sizes, plan.tokens_asked, config.seed), held_out)


def _records(
    plans: Sequence[SourcePlan], pools: Mapping[str, Sequence[Size]], choices: Mapping[str, Choice]
) -> list[MixRecord]:
    realised = {
        source: sum(size.num_tokens * choices[source].train.get(size.doc_id, 0) for size in pools[source])
        for source in choices
    }
    if empty := sorted(source for source, tokens in realised.items() if not tokens):
        raise MixError(
            f"mix: source {empty[0]}",
            "its share of the budget is smaller than half of its shortest document",
            "raise mix.num_tokens, or the source's weight",
        )
    total = sum(realised.values())
    return [
        MixRecord(
            source=plan.source,
            weight_declared=plan.weight_declared,
            weight_normalised=plan.weight_normalised,
            tokens_available=plan.tokens_available,
            tokens_asked=plan.tokens_asked,
            tokens_realised=realised[plan.source],
            share_realised=realised[plan.source] / total,
            epochs=realised[plan.source] / plan.tokens_available,
        )
        for plan in plans
    ]
