"""Prefect task: check that the documents of one input may be used."""

from functools import partial
from importlib.metadata import version

from prefect import task
from prefect.cache_policies import NO_CACHE

from tasks.core.sources import SourceConfig
from tasks.io.children import CHILDREN
from tasks.io.documents import StageOutput, chained_identity, transform
from tasks.io.store import Store
from tasks.safety.stage import STAGE, VERSION, SafetyConfig, check


@task(name=STAGE, task_run_name="safety · {upstream.source}/{upstream.name}", cache_policy=NO_CACHE)
def check_safety(store: Store, upstream: StageOutput, config: SafetyConfig, source: SourceConfig) -> StageOutput:
    """Apply the licence rule and the blocked domains to one input.

    Raises:
        StoreError: the store is full or not writable.
    """
    identity = chained_identity(
        upstream.identity,
        STAGE,
        VERSION,
        config=config.identity(),
        source_license=source.license,
        libraries={"license-expression": version("license-expression")},
    )
    function = partial(check, config=config, source_license=source.license)
    return CHILDREN.call(transform, store, upstream, STAGE, identity, function)
