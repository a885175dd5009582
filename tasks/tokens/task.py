"""Prefect tasks: get the tokenizer, and tokenise one input."""

from collections.abc import Mapping, Sequence
from functools import partial

from prefect import task
from prefect.cache_policies import NO_CACHE

from configs.base import fingerprint
from tasks.io.children import CHILDREN
from tasks.io.documents import StageOutput, chained_identity
from tasks.io.environment import shaping
from tasks.io.store import Store
from tasks.io.tokens import TokenizerFile, TokensOutput, named_tokenizer, train_tokenizer_file, write_tokens
from tasks.tokens import stage
from tasks.tokens.stage import TokenizerConfig


@task(name="tokenizer", task_run_name="tokenizer · train or load", cache_policy=NO_CACHE)
def get_tokenizer(
    store: Store,
    outputs: Sequence[StageOutput],
    duplicates_path: str,
    shares: Mapping[str, float],
    config: TokenizerConfig,
    seed: int,
) -> TokenizerFile:
    """Train a tokenizer on the deduplicated documents by the mix's shares, or take the named one."""
    if config.path:
        text = named_tokenizer(config.path)
        path = f"tokenizers/{fingerprint(text)[:16]}.json"
        if not store.exists(path):
            store.write_bytes(path, text.encode())
        return _described(store, path, config.path)
    identity = chained_identity(
        duplicates_path,
        "tokenizer",
        stage.VERSION,
        config=config.identity(),
        shares=dict(shares),
        seed=seed,
        libraries=shaping("tokenizers"),
    )
    path = f"tokenizers/{identity[:16]}.json"
    if not store.exists(path):
        budgets = {source: int(share * config.training_bytes) for source, share in shares.items()}
        order = partial(stage.sample_order, seed)
        train = partial(stage.train_tokenizer, vocab_size=config.vocab_size)
        CHILDREN.call(train_tokenizer_file, store, path, list(outputs), duplicates_path, budgets, order, train)
    return _described(store, path, "trained on the mix")


@task(name="tokenise", task_run_name="tokenise · {upstream.source}/{upstream.name}", cache_policy=NO_CACHE)
def tokenise_input(
    store: Store, upstream: StageOutput, tokenizer: TokenizerFile, config: TokenizerConfig
) -> TokensOutput:
    """Write the token ids of one input's documents."""
    identity = chained_identity(
        upstream.identity, "tokenise", stage.VERSION, tokenizer=tokenizer.sha256, libraries=shaping("tokenizers")
    )
    encode = partial(stage.encode_with, store.read_bytes(tokenizer.path).decode(), tokenizer.eos)
    return CHILDREN.call(write_tokens, store, upstream, identity, encode, tokenizer.vocab_size, config.batch_documents)


def _described(store: Store, path: str, origin: str) -> TokenizerFile:
    tokenizer = stage.load_tokenizer(store.read_bytes(path).decode())
    tokens = stage.special_tokens(tokenizer, origin)
    return TokenizerFile(path, store.sha256(path), origin, stage.vocabulary_size(tokenizer), tokens.eos, tokens.pad)
