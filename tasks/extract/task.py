"""Prefect task: extract one input."""

from importlib.metadata import version

from prefect import task
from prefect.cache_policies import NO_CACHE

from tasks.core.sources import SourceConfig
from tasks.extract.run import extract_to_store
from tasks.extract.stage import STAGE, VERSION, ExtractConfig
from tasks.io.documents import StageOutput, chained_identity
from tasks.io.inputs import Input
from tasks.io.readers import licenses_fingerprint
from tasks.io.store import Store

_LIBRARIES = ("trafilatura", "lxml", "charset-normalizer")


@task(name=STAGE, task_run_name="extract · {item.source}/{item.name}", cache_policy=NO_CACHE)
def extract_input(store: Store, item: Input, source: SourceConfig, config: ExtractConfig) -> StageOutput:
    """Extract the documents of one input. Work that was done before with the same content and settings is found.

    Raises:
        InputError: a remote file cannot be read, or a ``REUSE.toml`` is malformed.
        StoreError: the store is full or not writable.
    """
    return extract_to_store(store, item, extract_identity(item, source, config), source.snapshot, config)


def extract_identity(item: Input, source: SourceConfig, config: ExtractConfig) -> str:
    """Return the fingerprint of all that shapes the output: content, settings, source, libraries.

    The source's licence and languages are not part of it: later stages apply them.
    """
    return chained_identity(
        item.sha256,
        STAGE,
        VERSION,
        config=config.identity(),
        source=source.name,
        snapshot=source.snapshot,
        format=item.format,
        name=item.name,
        licenses=licenses_fingerprint(item),
        libraries={name: version(name) for name in _LIBRARIES},
    )
