"""The data half: sources in, one data version out.

Order: extract, safety, language, quality (per input), dedup (all inputs), tokenise (per input), mix, pack. Every
output is named by what shaped it, so a second run finds finished work, a killed one continues, and an unchanged
one ends at once with the version that is already there.
"""

from collections.abc import Sequence

from prefect import flow
from prefect.artifacts import create_table_artifact

from flows.fan_out import gather
from flows.funnel import check_none_is_empty, funnel_of, funnel_table
from flows.progress import reporter
from flows.refresh_config import RefreshConfig
from flows.results import RefreshResult
from flows.runners import ExecutionConfig, runner_for
from flows.stores import open_store
from flows.tracking import track_refresh
from flows.versions import alarms_of, build_manifest, version_fingerprint
from tasks.core.manifest import Manifest, ShardRecord, version_name
from tasks.dedup.task import find_duplicates, sign_documents
from tasks.extract.task import extract_input
from tasks.io.children import CHILDREN
from tasks.io.documents import StageOutput
from tasks.io.duplicates import DuplicatesOutput
from tasks.io.inputs import Input, find_inputs
from tasks.io.plans import Plan
from tasks.io.store import Store
from tasks.io.tokens import TokenizerFile, TokensOutput
from tasks.io.versions import commit_version, list_versions, read_manifest, shard_groups
from tasks.language.task import identify_language
from tasks.mix.stage import normalised
from tasks.mix.task import plan_mix
from tasks.pack.stage import num_shards, shards_per_group
from tasks.pack.task import pack_shards
from tasks.quality.task import judge_quality
from tasks.safety.task import check_safety
from tasks.tokens.stage import SpecialTokens, huggingface_files
from tasks.tokens.task import get_tokenizer, tokenise_input

PRELOAD = (
    "tasks.extract.stage", "tasks.safety.stage", "tasks.language.stage", "tasks.quality.stage", "tasks.dedup.stage",
    "tasks.tokens.stage", "tasks.pack.stage", "tasks.io.documents", "tasks.io.duplicates", "tasks.io.signatures",
    "tasks.io.tokens", "tasks.io.versions",
)  # fmt: skip


@flow(name="refresh", flow_run_name="refresh {config.name}", task_runner=runner_for(ExecutionConfig()))
def refresh(config: RefreshConfig) -> RefreshResult:
    """Turn sources into one data version.

    Args:
        config: Everything that shapes the version; opens filled with the YAML of the deployment.
    """
    store = open_store(config.store)
    store.sweep()
    inputs = [
        item
        for source in config.sources
        for item in find_inputs(source.name, source.inputs, source.format, store.url, source.prefix)
    ]
    identity = version_fingerprint(config, inputs)
    version = version_name(config.name, identity)
    if version in list_versions(store):
        reporter().note(f"nothing new: data version {version} has all of these inputs and settings")
        return _result(store, read_manifest(store, version), reused=True)
    try:
        manifest, alarms = make_version(store, config, inputs, identity)
    except BaseException:
        CHILDREN.abort()  # a failed or cancelled flow does not wait for the inputs at work
        raise
    finally:
        CHILDREN.close()
        store.sweep()
    return _result(store, manifest, reused=False, alarms=alarms)


def make_version(
    store: Store, config: RefreshConfig, inputs: Sequence[Input], identity: str
) -> tuple[Manifest, Sequence[str]]:
    """Take the inputs through all stages and write the version; return its manifest, and dedup's alarms."""
    version = version_name(config.name, identity)
    CHILDREN.preload(PRELOAD)
    documents = curate(store, config, inputs)
    outputs = [output for stage in documents.values() for output in stage]
    check_none_is_empty(outputs)
    duplicates = deduplicate(store, config, documents["quality"])
    tokenizer, tokens = tokenise(store, config, documents["quality"], duplicates)
    plan = plan_mix(store, tokens, duplicates.path, config.weights, config.mix)
    shards = pack(store, config, f"versions/{version}", plan, tokenizer)
    funnel = funnel_of(outputs, duplicates.counts, plan.counts)
    manifest = build_manifest(store, config, identity, inputs, funnel, plan, tokenizer, shards)
    tokenizer_text = store.read_bytes(tokenizer.path).decode()
    special = SpecialTokens(tokenizer.eos, tokenizer.pad)
    files = huggingface_files(tokenizer_text, special, config.pack.sequence_length)
    commit_version(store, manifest, plan.index_path, files)
    create_table_artifact(funnel_table(funnel), key="funnel", description=f"Funnel of data version {version}")
    return manifest, duplicates.alarms


def curate(store: Store, config: RefreshConfig, inputs: Sequence[Input]) -> dict[str, list[StageOutput]]:
    """Take every input through extraction, safety, language and quality; return the outputs per stage."""
    sources = {source.name: source for source in config.sources}
    extracted = gather(
        "extract", [extract_input.submit(store, item, sources[item.source], config.extract) for item in inputs]
    )
    safe = gather(
        "safety", [check_safety.submit(store, item, config.safety, sources[item.source]) for item in extracted]
    )
    known = gather(
        "language",
        [
            identify_language.submit(store, item, config.language, tuple(sources[item.source].languages))
            for item in safe
        ],
    )
    good = gather("quality", [judge_quality.submit(store, item, config.profile(item.source)) for item in known])
    return {"extract": extracted, "safety": safe, "language": known, "quality": good}


def deduplicate(store: Store, config: RefreshConfig, documents: Sequence[StageOutput]) -> DuplicatesOutput:
    """Sign every input, then find the duplicates among all of them."""
    signatures = gather("sign", [sign_documents.submit(store, item, config.dedup) for item in documents])
    (duplicates,) = gather("dedup", [find_duplicates.submit(store, list(documents), signatures, config.dedup)])
    return duplicates


def tokenise(
    store: Store, config: RefreshConfig, documents: Sequence[StageOutput], duplicates: DuplicatesOutput
) -> tuple[TokenizerFile, list[TokensOutput]]:
    """Get the tokenizer, then tokenise every input."""
    shares = normalised(config.weights)
    getting = get_tokenizer.submit(store, list(documents), duplicates.path, shares, config.tokenizer, config.mix.seed)
    (tokenizer,) = gather("tokenizer", [getting])
    return tokenizer, gather(
        "tokenise", [tokenise_input.submit(store, item, tokenizer, config.tokenizer) for item in documents]
    )


def pack(
    store: Store, config: RefreshConfig, folder: str, plan: Plan, tokenizer: TokenizerFile
) -> dict[str, list[ShardRecord]]:
    """Pack the training part ("" as key) and each source's validation part; return the shards of each."""
    tokens = sum(record.tokens_realised for record in plan.mix)
    groups = shard_groups(
        "train", "", f"{folder}/train", num_shards(tokens, config.pack), shards_per_group(config.pack)
    )
    for record in plan.validation:
        groups += shard_groups("validation", record.source, f"{folder}/validation/{record.source}", 1, 1)
    futures = [
        pack_shards.submit(store, plan.index_path, group, tokenizer, config.pack, config.mix.seed) for group in groups
    ]
    shards: dict[str, list[ShardRecord]] = {}
    for group, records in zip(groups, gather("pack", futures), strict=True):
        shards.setdefault(group.source, []).extend(records)
    return shards


def _result(store: Store, manifest: Manifest, *, reused: bool, alarms: Sequence[str] = ()) -> RefreshResult:
    return RefreshResult(
        version=manifest.version,
        fingerprint=manifest.fingerprint,
        reused=reused,
        manifest=manifest,
        mlflow_run_id=track_refresh(store, manifest),
        alarms=(*alarms, *alarms_of(manifest)),
    )
