"""Settings of the data half: the sources, every stage, and where it all goes."""

from typing import Self

from pydantic import Field, model_validator

from configs.base import Config, execution_field
from flows.runners import ExecutionConfig
from tasks.core.sources import SourceConfig
from tasks.dedup.stage import DedupConfig
from tasks.extract.stage import ExtractConfig
from tasks.language.stage import LanguageConfig
from tasks.mix.stage import MixConfig
from tasks.pack.stage import PackConfig
from tasks.quality.stage import QualityProfile
from tasks.safety.stage import SafetyConfig
from tasks.tokens.stage import TokenizerConfig


class RefreshConfig(Config):
    """Everything that shapes a data version, and where it goes."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$", description="Name of the data versions that this makes.")
    sources: list[SourceConfig] = Field(min_length=1, description="Where documents come from, and their shares.")
    extract: ExtractConfig = Field(default_factory=ExtractConfig, title="Extraction", description="HTML to text.")
    safety: SafetyConfig = Field(default_factory=SafetyConfig, title="Safety", description="Licences and blocklists.")
    language: LanguageConfig = Field(default_factory=LanguageConfig, title="Language", description="Language ID.")
    quality: list[QualityProfile] = Field(
        default_factory=lambda: [QualityProfile(name="prose")], description="Quality profiles, named by the sources."
    )
    dedup: DedupConfig = Field(default_factory=DedupConfig, title="Deduplication", description="Exact and MinHash LSH.")
    tokenizer: TokenizerConfig = Field(default_factory=TokenizerConfig, title="Tokenizer", description="Train or load.")
    mix: MixConfig = Field(default_factory=MixConfig, title="Mix", description="Tokens per source.")
    pack: PackConfig = Field(default_factory=PackConfig, title="Packing", description="Rows and shards.")
    store: str = execution_field("", description="Root of the store; empty: GLASSWORKS_STORE, else ./store.")
    execution: ExecutionConfig = execution_field(ExecutionConfig(), title="Execution", description="Where tasks run.")

    @model_validator(mode="after")
    def _names_fit(self) -> Self:
        names = [source.name for source in self.sources]
        if len(set(names)) < len(names):
            raise ValueError(f"sources: a name is used twice in {names}; give each source its own")
        profiles = [profile.name for profile in self.quality]
        for source in self.sources:
            if source.quality not in profiles:
                raise ValueError(f"sources.{source.name}.quality: no profile {source.quality!r}; there is {profiles}")
        return self

    def profile(self, source: str) -> QualityProfile:
        """Return the quality profile of a source."""
        wanted = next(item.quality for item in self.sources if item.name == source)
        return next(profile for profile in self.quality if profile.name == wanted)

    @property
    def weights(self) -> dict[str, float]:
        """Weights by source, as declared."""
        return {source.name: source.weight for source in self.sources}
