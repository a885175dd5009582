"""A source: a named origin of documents, as settings. A source is a YAML entry, never a module."""

from typing import Literal

from pydantic import Field

from configs.base import Config, execution_field

InputFormat = Literal["warc", "html", "jsonl", "parquet", "text", "tree"]


class SourceConfig(Config):
    """Where a source's documents are, under which licence they may be used, and what share they get."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$", description="Short name, used in paths and reports.")
    inputs: list[str] = execution_field(
        ..., min_length=1, description="Paths, globs or URLs (file, s3, https …); @file reads a list of them."
    )
    prefix: str = execution_field("", description="Put before each line of a path list, such as s3://commoncrawl/.")
    format: InputFormat = Field("warc", description="How the inputs are read.")
    snapshot: str = Field("", description="Name of the crawl or release, for example CC-MAIN-2026-30.")
    license: str = Field(
        "", description="SPDX expression confirmed for the whole source; empty: each document must state its own."
    )
    languages: list[str] = Field(["en"], description="Languages to keep (ISO 639-1); empty keeps every language.")
    quality: str = Field("prose", description="Name of the quality profile that judges this source.")
    weight: float = Field(1.0, gt=0, description="Share of tokens in the mix, relative to the other sources.")
