"""Charsets: BOM, UTF-8, HTTP header, meta, detection, in this order, and nothing is ever lost."""

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.extract.charset import decode

RUSSIAN = "Старый маяк стоял на скале, и смотритель каждый вечер зажигал огонь для кораблей."
FRENCH = "Au café d'à côté, on sert des crêpes jusqu'à midi — et même après."


def page(charset: str, text: str = "") -> bytes:
    return f'<html><head><meta charset="{charset}"></head><body>{text}</body></html>'.encode("latin-1", "ignore")


def test_a_byte_order_mark_beats_the_header() -> None:
    for mark, name in (
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ):
        assert decode(mark + RUSSIAN.encode(name), "windows-1251") == RUSSIAN


def test_valid_utf8_beats_a_wrong_declaration() -> None:
    assert decode(FRENCH.encode(), "iso-8859-1") == FRENCH
    assert decode(page("windows-1251") + RUSSIAN.encode()).endswith(RUSSIAN)


def test_the_header_beats_meta_and_meta_beats_detection() -> None:
    content = page("iso-8859-1") + RUSSIAN.encode("cp1251")
    assert decode(content, "windows-1251").endswith(RUSSIAN)
    assert decode(page("windows-1251") + RUSSIAN.encode("cp1251")).endswith(RUSSIAN)
    xml = b'<?xml version="1.0" encoding="koi8-r"?>' + RUSSIAN.encode("koi8-r")
    assert decode(xml).endswith(RUSSIAN)


def test_labels_mean_what_browsers_take_them_for() -> None:
    assert decode(FRENCH.encode("cp1252"), "ISO-8859-1") == FRENCH
    assert decode("镕".encode("gb18030"), "gb2312") == "镕"
    assert decode("①".encode("cp932"), "shift_jis") == "①"


def test_seven_bit_and_wide_charsets_are_taken_when_declared() -> None:
    japanese = "灯台の光"
    assert decode(japanese.encode("iso-2022-jp"), "iso-2022-jp") == japanese
    assert decode("plain".encode("utf-16-le"), "utf-16") == "plain"
    assert decode(b"<p>ascii although declared wide</p>", "utf-16") == "<p>ascii although declared wide</p>"
    assert decode(page("utf-16") + FRENCH.encode()).endswith(FRENCH)


def test_a_few_broken_bytes_do_not_change_the_charset() -> None:
    assert decode(RUSSIAN.encode() + b"\xff", "utf-8") == RUSSIAN + "\ufffd"
    assert decode(RUSSIAN.encode() * 3 + b"\xd0") == RUSSIAN * 3 + "\ufffd"


def test_without_any_declaration_the_charset_is_detected() -> None:
    assert decode((RUSSIAN * 5).encode("cp1251")) == RUSSIAN * 5


@pytest.mark.parametrize(
    "label", ["no-such-charset", "base64", "rot13", "utf-7", "x\0y", "ünknown", "", "undefined", "hex"]
)
def test_an_impossible_label_is_as_good_as_none(label: str) -> None:
    assert decode(FRENCH.encode(), label) == FRENCH


@given(
    st.binary(max_size=300), st.sampled_from(["", "utf-8", "utf-16", "shift_jis", "big5", "iso-2022-kr", "hz", "idna"])
)
def test_any_bytes_become_text(content: bytes, label: str) -> None:
    assert isinstance(decode(content, label), str)
    assert isinstance(decode(b'<meta charset="%s">' % label.encode() + content, html=True), str)
