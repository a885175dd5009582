"""Docstrings become readable HTML without losing a word."""

import html
import re

from hypothesis import given
from hypothesis import strategies as st

from tasks.crawl.docstrings import to_html


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def test_a_wrapped_paragraph_becomes_one_line() -> None:
    assert (
        to_html("First line\nof a sentence.\n\nSecond one.") == "<p>First line of a sentence.</p>\n<p>Second one.</p>"
    )


def test_numpy_sections_become_headings_and_definitions() -> None:
    text = "Parameters\n----------\nx : int\n    How many\n    there are.\n"
    assert to_html(text) == "<h5>Parameters</h5>\n<p><strong>x : int</strong></p>\n<p>How many there are.</p>"


def test_google_sections_keep_one_entry_per_line() -> None:
    text = "Args:\n    width (int): The width\n        in cells.\n    name (str): The name."
    assert to_html(text) == "<h5>Args</h5>\n<p>width (int): The width in cells.</p>\n<p>name (str): The name.</p>"


def test_code_after_a_double_colon_keeps_lines_and_indentation() -> None:
    text = "Use it like this::\n\n    for item in items:\n        print(item)\n\n    done()\n\nThen stop."
    expected = "<p>Use it like this:</p>\n<pre>for item in items:\n    print(item)\n\ndone()</pre>\n<p>Then stop.</p>"
    assert to_html(text) == expected


def test_doctests_are_code_and_escaped() -> None:
    assert to_html(">>> a < b\nTrue") == "<pre>&gt;&gt;&gt; a &lt; b\nTrue</pre>"


def test_bullets_become_list_entries_with_their_continuation() -> None:
    assert to_html("- one\n  more\n- two") == "<ul>\n<li>one more</li>\n<li>two</li>\n</ul>"


def test_roles_and_literals_lose_their_markers() -> None:
    assert to_html("See :class:`~a.B` and ``x = 1``.") == "<p>See <code>a.B</code> and <code>x = 1</code>.</p>"


@given(st.lists(st.text("ab:>-* .(\n", max_size=20), max_size=8))
def test_no_word_of_prose_is_lost(lines: list[str]) -> None:
    text = "\n".join(lines)
    shown = html.unescape(re.sub(r"<[^>]+>", " ", to_html(text)))
    assert _words(shown) == _words(text)
