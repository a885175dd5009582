"""One page: text with structure, title, licence."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.extract.page import clean_text, extract_html
from tasks.io.warc import RawDocument, read_warc

CASES = Path(__file__).parents[3] / ".." / "shared" / "cases"
PAGE = """<!DOCTYPE html><html><head><title>
 The &amp; title </title></head><body><nav><a href="/">Home</a> <a href="/shop">Shop</a></nav>
<script>var advert = "buy now";</script><article><h1>Heading</h1>
<p>The first paragraph is long enough to be kept by an extractor that looks for real sentences.</p>
<ul><li>one item</li><li>another item</li></ul>
<pre><code>def f(x):
    if x:
        return 1
</code></pre><p>The second paragraph has a break<br>and goes on after it, with enough words to stay.</p>
<table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></table></article></body></html>"""


def case(name: str) -> dict[str, Any]:
    path = CASES / name / "expected.json"
    if not path.exists():
        pytest.skip("the shared cases are not here")
    loaded: dict[str, Any] = json.loads(path.read_text())
    return loaded


def text_of(path: str, charset: str = "", mode: str = "fast") -> str:
    file = CASES / path
    content = gzip.decompress(file.read_bytes()) if path.endswith(".gz") else file.read_bytes()
    return extract_html(content, charset, mode=mode).text


def test_lines_lists_tables_and_indentation_survive_and_navigation_goes() -> None:
    """R-3.1-8, R-3.1-9, R-3.1-10."""
    found = extract_html(PAGE.encode())
    lines = found.text.split("\n")
    assert "        return 1" in lines
    assert [line for line in lines if "item" in line] == ["- one item", "- another item"]
    assert "| A | B |" in found.text
    assert "The second paragraph has a break" in lines
    assert not any(word in found.text for word in ("Home", "Shop", "advert", "<"))
    assert found.title == "The & title"


def test_tables_can_be_left_out() -> None:
    assert "| A | B |" not in extract_html(PAGE.encode(), tables=False).text


@pytest.mark.parametrize(
    "name", ["B05/latin1.html", "B08/colspan_td.html", "B08/colspan_th.html", "B08/rowspan_text.html"]
)
def test_b05_b08_the_text_is_all_there(name: str) -> None:
    expected = case(name[:3])
    expected = expected.get("each_file", expected)
    found = text_of(name)
    assert [part for part in expected["text_must_contain"] if part not in found] == []
    assert [part for part in expected.get("text_must_not_contain", []) if part in found] == []


def test_b07_the_charset_of_the_http_header_counts() -> None:
    expected = case("B07")
    with (CASES / "B07" / "header_charset.warc.gz").open("rb") as file:
        (raw,) = read_warc(file, "B07")
    assert isinstance(raw, RawDocument)
    found = extract_html(raw.content, raw.charset).text
    assert all(part in found for part in expected["text_must_contain"])


@pytest.mark.parametrize("mode", ["fast", "balanced", "precision", "recall"])
def test_b12_b14_no_words_are_glued_and_a_page_in_a_form_is_whole(mode: str) -> None:
    loose, form = case("B12"), case("B14")
    found = text_of("B12/loose_tails.html", mode=mode)
    assert not any(part in found for part in loose["text_must_not_contain"])
    assert all(found.count(part) <= most for part, most in loose["max_count"].items())
    assert all(part in text_of("B14/one_form.html", mode=mode) for part in form["text_must_contain"])


def test_b16_nothing_is_lost_behind_a_nul_and_no_control_character_stays() -> None:
    expected = case("B16")
    found = text_of("B16/nul.html")
    assert all(part in found for part in expected["text_must_contain"])
    assert not any(ord(character) < 32 and character not in "\n\t" for character in found)


def test_b17_the_same_page_gives_the_same_text_however_often_it_was_seen() -> None:
    case("B17")
    found = [text_of("B17/same_page.html") for _ in range(6)]
    assert len(set(found)) == 1
    assert len(found[0]) > 300


@pytest.mark.parametrize(
    ("links", "expected"),
    [
        ('<a rel="license" href="https://creativecommons.org/licenses/by/4.0/">CC</a>', "CC-BY-4.0"),
        ('<link rel="nofollow license" href="https://spdx.org/licenses/MIT">', "MIT"),
        ('<a rel="license" href="/terms">Terms</a>', ""),
        ('<a rel="license" href="//creativecommons.org/licenses/by/4.0/"></a>' * 2, "CC-BY-4.0"),
        (
            '<a rel="license" href="//creativecommons.org/licenses/by/4.0/"></a>'
            '<a rel="license" href="//creativecommons.org/licenses/by-nc/4.0/"></a>',
            "",
        ),
        ("<p>the license is rel=license somewhere</p>", ""),
        ('<!-- <a rel="license" href="https://spdx.org/licenses/MIT">MIT</a> -->', ""),
    ],
)
def test_a_page_states_its_licence_by_links_that_agree(links: str, expected: str) -> None:
    assert extract_html(PAGE.replace("</body>", f"{links}</body>").encode()).license == expected


def test_plain_text_keeps_its_own_line_ends_and_loses_control_characters() -> None:
    assert clean_text("a\r\nb\rc\x0bd\0e\x1b\x7f\x9f\ttab\fform\u2028line\x85nel\ud800") == (
        "a\nb\nc\nde\ttab\fform\u2028line\x85nel\ufffd"
    )


@given(st.text(), st.text())
def test_any_markup_gives_text_that_can_be_encoded(first: str, second: str) -> None:
    content = f"<title>{first}</title><p>{second}".encode(errors="surrogatepass")
    found = extract_html(content)
    (found.text + found.title).encode()
