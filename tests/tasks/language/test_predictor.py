"""The language model: one way in, whatever the text looks like."""

import json
from pathlib import Path

import fasttext
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.core.document import Document, Locator
from tasks.core.errors import InputError
from tasks.io.assets import language_model
from tasks.language.predictor import identify_with_model, normalised, predictor
from tasks.language.stage import LanguageConfig, label

CASES = Path(__file__).parents[3] / ".." / "shared" / "cases"
MODEL = language_model().path


def rows(path: str) -> list[dict[str, str]]:
    file = CASES / path
    if not file.exists():
        pytest.skip("the shared cases are not here")
    return [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n") if line]


@pytest.mark.parametrize("path", ["B20/multiline.jsonl", "B23/upper_lower.jsonl"])
def test_b20_b23_lines_and_capitals_do_not_change_the_language(path: str) -> None:
    for row in rows(path):
        language, score = predictor(MODEL)(row["text"])
        assert (row["id"], language) == (row["id"], row["lang"])
        assert score > 0.65


def test_b21_the_score_is_that_of_the_model_with_its_line_end() -> None:
    text = "The boat lies at the landing and the children throw stones."
    model = fasttext.load_model(MODEL)
    ((score, name),) = model.f.predict(text + "\n", 1, 0.0, "strict")
    assert (name.removeprefix("__label__"), score) == predictor(MODEL)(text)
    ((without, _),) = model.f.predict(text, 1, 0.0, "strict")
    assert without != score


@pytest.mark.parametrize("text", ["", " \n ", "\0", "a\ud800b", "\u2028\x85", "\ud800" * 30, "x" * 1_000_000])
def test_b22_no_text_raises(text: str) -> None:
    language, score = predictor(MODEL)(text)
    assert language
    assert 0 <= score <= 1.001
    if not text.strip("\0 \n"):
        assert label(text, 10, predictor(MODEL)) == ("und", 0.0)


def test_the_text_itself_is_not_changed() -> None:
    text = "THE BOAT LIES AT\r\nTHE LANDING, \ud7ff AND IT RAINS."
    item = Document(b"0" * 16, "web", "", "", Locator("f", 0), None, "", "", text)
    (result,) = identify_with_model([item], config=LanguageConfig(), languages=(), model_path=MODEL)
    assert isinstance(result, Document)
    assert (result.text, result.language) == (text, "en")


def test_a_file_that_is_no_model_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "no.bin").write_bytes(b"not a model")
    with pytest.raises(InputError, match=r"no\.bin: cannot be loaded"):
        predictor(str(tmp_path / "no.bin"))


@settings(max_examples=50)
@given(st.text())
def test_any_text_becomes_one_line_that_can_be_encoded(text: str) -> None:
    line = normalised(text)
    assert "\n" not in line
    line.encode()
    predictor(MODEL)(text)
