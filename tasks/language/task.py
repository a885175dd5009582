"""Prefect task: find the language of the documents of one input."""

from functools import partial

from prefect import task
from prefect.cache_policies import NO_CACHE

from tasks.io.assets import language_model
from tasks.io.children import CHILDREN
from tasks.io.documents import StageOutput, chained_identity, transform
from tasks.io.environment import shaping
from tasks.io.store import Store
from tasks.language.predictor import identify_with_model
from tasks.language.stage import STAGE, VERSION, LanguageConfig


@task(name=STAGE, task_run_name="language · {upstream.source}/{upstream.name}", cache_policy=NO_CACHE)
def identify_language(
    store: Store, upstream: StageOutput, config: LanguageConfig, languages: tuple[str, ...]
) -> StageOutput:
    """Label the documents of one input with their language, and drop those that are not wanted.

    Raises:
        InputError: the language model is missing or damaged.
        StoreError: the store is full or not writable.
    """
    model = language_model(config.model)
    settings = {name: value for name, value in config.identity().items() if name != "model"}
    identity = chained_identity(
        upstream.identity,
        STAGE,
        VERSION,
        config=settings,
        languages=sorted(languages),
        model=model.sha256,
        libraries=shaping("fasttext-predict"),
    )
    function = partial(identify_with_model, config=config, languages=tuple(sorted(languages)), model_path=model.path)
    return CHILDREN.call(transform, store, upstream, STAGE, identity, function)
