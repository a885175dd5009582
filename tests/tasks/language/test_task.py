"""The language task."""

from pathlib import Path

from tasks.core.document import Document, Locator
from tasks.io.documents import read_documents, write_output
from tasks.io.store import Store
from tasks.language.stage import LanguageConfig
from tasks.language.task import identify_language

TEXTS = {
    "en": "The ferry to the north island leaves at seven, and the crew loads the mail bags first.",
    "de": "Die Fähre zur Nordinsel fährt um sieben ab, und die Mannschaft lädt zuerst die Postsäcke.",
}


def test_documents_are_labelled_in_a_child_and_found_again(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    items = [
        Document(name.encode().ljust(16), "web", "", "", Locator(name, 0), None, "", "MIT", text, num_bytes=len(text))
        for name, text in TEXTS.items()
    ]
    upstream = write_output(store, "safety", "web", "f", "1" * 64, "2" * 64, items)
    all_kept = identify_language.fn(store, upstream, LanguageConfig(), ())
    english = identify_language.fn(store, upstream, LanguageConfig(), ("en",))
    assert [item.language for item in read_documents(store, all_kept.kept_path)] == ["en", "de"]
    assert english.counts.dropped == {"language_not_wanted": 1}
    assert identify_language.fn(store, upstream, LanguageConfig(), ("en",)).reused
    other = LanguageConfig(min_score=0.5)
    assert identify_language.fn(store, upstream, other, ("en",)).identity != english.identity


def test_the_order_of_languages_and_the_place_of_the_model_shape_nothing(tmp_path: Path) -> None:
    from tasks.io.assets import language_model

    store = Store(str(tmp_path / "store"))
    upstream = write_output(store, "safety", "web", "f", "1" * 64, "2" * 64, [])
    (tmp_path / "copy.ftz").write_bytes(Path(language_model().path).read_bytes())
    first = identify_language.fn(store, upstream, LanguageConfig(), ("en", "de"))
    second = identify_language.fn(store, upstream, LanguageConfig(model=str(tmp_path / "copy.ftz")), ("de", "en"))
    assert second.identity == first.identity
    assert second.reused
