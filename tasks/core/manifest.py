"""What a data version and its shards are. The manifest is written last: if it exists, all of it exists."""

from typing import Any

from pydantic import BaseModel, ConfigDict

from tasks.core.counts import Counts

ROW_FORMAT = "packed-rows/1"


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class InputRecord(_Record):
    """One input that went in: source, name within the source, size in bytes and SHA-256 of its content."""

    source: str
    name: str
    num_bytes: int
    sha256: str


class ShardRecord(_Record):
    """One Parquet shard: path within the version, rows, real tokens, documents ended in it, SHA-256."""

    path: str
    num_rows: int
    num_tokens: int
    num_documents: int
    sha256: str


class MixRecord(_Record):
    """Asked and got, per source. Shares are of tokens."""

    source: str
    weight_declared: float
    weight_normalised: float
    tokens_available: int
    tokens_asked: int
    tokens_realised: int
    share_realised: float
    epochs: float


class ValidationRecord(_Record):
    """The held-out part of one source."""

    source: str
    num_documents: int
    num_bytes: int
    num_tokens: int


class TokenizerRecord(_Record):
    """The tokenizer inside the version: its origin, vocabulary and the SHA-256 of tokenizer.json."""

    origin: str
    vocab_size: int
    eos_token_id: int
    pad_token_id: int
    sha256: str
    bytes_per_token: float


class Manifest(_Record):
    """Everything about one data version. ``fingerprint`` covers config, inputs, code versions and libraries."""

    name: str
    fingerprint: str
    parent: str
    created_at: str
    config: dict[str, Any]
    code: dict[str, Any]
    libraries: dict[str, str]
    inputs: list[InputRecord]
    funnel: dict[str, dict[str, Counts]]
    mix: list[MixRecord]
    validation: list[ValidationRecord]
    licenses: dict[str, int]
    languages: dict[str, int]
    tokenizer: TokenizerRecord
    decontamination: dict[str, Any]
    row_format: str
    sequence_length: int
    train_shards: list[ShardRecord]
    validation_shards: dict[str, list[ShardRecord]]

    @property
    def version(self) -> str:
        """The version's folder name: ``<name>-<first 12 hex digits of the fingerprint>``."""
        return version_name(self.name, self.fingerprint)

    @property
    def num_rows(self) -> int:
        """Rows of the training part."""
        return sum(shard.num_rows for shard in self.train_shards)

    @property
    def num_tokens(self) -> int:
        """Tokens of the training part, padding not counted."""
        return sum(shard.num_tokens for shard in self.train_shards)


def version_name(name: str, fingerprint: str) -> str:
    """Return the folder name of a data version or run."""
    return f"{name}-{fingerprint[:12]}"
