"""Prefect's side of the quality stage: one task per input."""

from functools import partial

from prefect import task
from prefect.cache_policies import NO_CACHE

from tasks.io.children import CHILDREN
from tasks.io.documents import StageOutput, chained_identity, transform
from tasks.io.store import Store
from tasks.quality import stage


@task(name="quality", task_run_name="quality · {upstream.source}/{upstream.name}", cache_policy=NO_CACHE)
def judge_quality(store: Store, upstream: StageOutput, profile: stage.QualityProfile) -> StageOutput:
    """Judge one input's documents by a profile, or find them judged."""
    identity = chained_identity(upstream.identity, stage.STAGE, stage.VERSION, filters=profile.filters.identity())
    function = partial(stage.judge, profile=profile)
    return CHILDREN.call(transform, store, upstream, stage.STAGE, identity, function, stage.SIGNALS)
