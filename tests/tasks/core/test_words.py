"""What counts as a word."""

import re
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from tasks.core.words import is_unspaced, split_words


def test_apostrophes_and_inner_stops_join_and_other_punctuation_separates() -> None:
    assert split_words("Don't stop: 3.14 (wait...what) well-known a.b. end.") == [
        "Don't", "stop", "3.14", "wait", "what", "well", "known", "a.b", "end"
    ]  # fmt: skip


def test_combining_marks_stay_inside_their_word() -> None:
    assert split_words("हिन्दी में") == ["हिन्दी", "में"]
    decomposed = unicodedata.normalize("NFD", "naïve Straße")
    assert split_words(decomposed) == decomposed.split()


def test_each_character_of_an_unspaced_script_is_a_word_with_its_marks() -> None:
    assert split_words("春天的 river") == ["春", "天", "的", "river"]
    assert split_words("น้ำ") == ["น้", "ำ"]


def test_symbols_emoji_and_punctuation_are_no_words() -> None:
    assert split_words("— ## … 😀 。、 +=") == []


def test_scripts_without_spaces_are_recognised_by_their_characters() -> None:
    assert is_unspaced("山下的果园今年收成很好。村里请了邻县的人。")
    assert is_unspaced("ตลาดน้ำเปิดตั้งแต่เช้ามืด")
    assert not is_unspaced("يعمل الخباز في الحارة القديمة")
    assert not is_unspaced("the word 春 in an English sentence")
    assert not is_unspaced("")


@given(st.text())
def test_words_are_parts_of_the_text_in_order_and_hold_no_white_space(text: str) -> None:
    position = 0
    for word in split_words(text):
        assert not re.search(r"\s", word)
        position = text.index(word, position) + len(word)


@given(st.text(alphabet=st.characters(max_codepoint=127)))
def test_plain_ascii_has_the_same_words_inside_other_text(text: str) -> None:
    assert split_words(text) == split_words(text + " ü")[:-1]
