"""The safety task: a changed licence is a changed output, an unchanged one is found."""

from tasks.core.document import Document, Locator
from tasks.core.sources import SourceConfig
from tasks.io.documents import read_dropped, write_output
from tasks.io.store import Store
from tasks.safety.stage import SafetyConfig
from tasks.safety.task import check_safety


def source(license_stated: str) -> SourceConfig:
    return SourceConfig(name="web", inputs=["x"], license=license_stated)


def test_the_source_licence_decides_and_is_part_of_the_identity(tmp_path: object) -> None:
    store = Store(str(tmp_path))
    item = Document(b"0" * 16, "web", "", "http://a/", Locator("f", 0), None, "", "", "Text.", num_bytes=5)
    upstream = write_output(store, "extract", "web", "f", "1" * 64, "2" * 64, [item])
    refused = check_safety.fn(store, upstream, SafetyConfig(), source(""))
    allowed = check_safety.fn(store, upstream, SafetyConfig(), source("CC0-1.0"))
    assert refused.counts.dropped == {"licence_unknown": 1}
    assert [drop.reason for drop in read_dropped(store, refused.dropped_path)] == ["licence_unknown"]
    assert (allowed.counts.kept, allowed.identity != refused.identity) == (1, True)
    assert check_safety.fn(store, upstream, SafetyConfig(), source("")).reused
