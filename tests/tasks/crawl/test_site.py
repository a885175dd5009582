"""The site adds noise that extraction removes, and nothing of the machine."""

import trafilatura

from tasks.crawl.site import names_machine, page_html, without_machine

BODY = '<pre class="docstring">Reads a file and returns what it &lt;holds&gt;, line by line, to whoever asks.</pre>'


def test_extraction_keeps_the_docstring_and_drops_what_the_site_adds() -> None:
    page = page_html("files", BODY * 5, "files", "files.reader", [f"files.m{number}" for number in range(30)])
    text = trafilatura.extract(page)
    assert text is not None
    assert "what it <holds>, line by line" in text
    for noise in ("cookies", "Sign in", "files.m1", "Imprint", "helpful"):
        assert noise in page
        assert noise not in text


def test_folders_of_the_machine_and_addresses_are_replaced() -> None:
    text = "f(path='/home/ann/env/lib', g=<function g at 0x7f2cb0e58860>) in /home/ann/environment"
    expected = "f(path='/usr/local/lib', g=<function g>) in /usr/local/environment"
    assert without_machine(text, ["/home/ann", "/home/ann/env"]) == expected


def test_folders_that_every_machine_has_are_left_alone() -> None:
    text = "see /usr/bin/env, /opt and /"
    assert without_machine(text, ["/usr", "/opt", "/"]) == text
    assert not names_machine(text, ["/usr", "/opt", "/"])
    assert names_machine("prefix = '/srv/env'", ["/srv/env"])
    assert not names_machine("prefix = '/srv/environment'", ["/srv/env"])
