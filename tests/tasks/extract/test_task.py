"""The extraction task: what shapes its output is in its identity, and nothing else."""

from pathlib import Path

from tasks.core.sources import SourceConfig
from tasks.extract.stage import ExtractConfig
from tasks.extract.task import extract_identity, extract_input
from tasks.io.inputs import find_inputs
from tasks.io.store import Store

TEXT = "The ferry to the north island leaves at seven, and the crew loads the mail bags first."


def identity(folder: Path, config: ExtractConfig | None = None, **source: object) -> str:
    settings = {"name": "books", "inputs": [str(folder)], "format": "text", **source}
    (item,) = find_inputs("books", [str(folder / "*.txt")], "text")
    return extract_identity(item, SourceConfig.checked(settings, "test"), config or ExtractConfig())


def test_the_identity_covers_content_settings_and_stated_licences(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TEXT)
    seen = [identity(tmp_path), identity(tmp_path, ExtractConfig(mode="recall")), identity(tmp_path, snapshot="2026")]
    (tmp_path / "REUSE.toml").write_text('version = 1\n[[annotations]]\npath = "**"\nSPDX-License-Identifier = "MIT"\n')
    seen.append(identity(tmp_path))
    (tmp_path / "a.txt").write_text(TEXT + "!")
    seen.append(identity(tmp_path))
    assert len(set(seen)) == len(seen)


def test_the_identity_leaves_out_what_later_stages_apply(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TEXT)
    assert identity(tmp_path) == identity(tmp_path, license="MIT", languages=["de"], weight=3.0, quality="code")


def test_the_task_extracts_into_the_store(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TEXT)
    source = SourceConfig(name="books", inputs=[str(tmp_path / "*.txt")], format="text")
    (item,) = find_inputs("books", source.inputs, source.format)
    store = Store(str(tmp_path / "store"))
    output = extract_input.fn(store, item, source, ExtractConfig())
    assert (output.counts.kept, output.input_fingerprint, output.reused) == (1, item.sha256, False)
    assert extract_input.fn(store, item, source, ExtractConfig()).reused
