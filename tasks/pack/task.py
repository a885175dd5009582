"""Prefect task: pack one group of shards."""

from functools import partial

from prefect import task
from prefect.cache_policies import NO_CACHE

from tasks.core.manifest import ShardRecord
from tasks.io.children import CHILDREN
from tasks.io.store import Store
from tasks.io.tokens import TokenizerFile
from tasks.io.versions import ShardGroup, write_shards
from tasks.pack import stage
from tasks.pack.stage import PackConfig


@task(name="pack", task_run_name="pack · {group.label}", cache_policy=NO_CACHE)
def pack_shards(
    store: Store, index_path: str, group: ShardGroup, tokenizer: TokenizerFile, config: PackConfig, seed: int
) -> list[ShardRecord]:
    """Pack the documents of some shards into rows, in training order."""
    pack = partial(stage.pack_columns, sequence_length=config.sequence_length, seed=seed, pad=tokenizer.pad)
    bucket_of = partial(stage.bucket_of, seed, buckets=group.num_shards)
    return CHILDREN.call(
        write_shards, store, index_path, group, bucket_of, pack, config.sequence_length, tokenizer.vocab_size
    )
