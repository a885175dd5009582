"""A documentation site around pydoc's pages: the noise that extraction must remove, and no trace of this machine.

Each page gets what real sites have: cookie notice, navigation, breadcrumb, list of related pages, footer. Paths of the
machine and memory addresses in signatures are replaced, so that equal environments give equal bytes.
"""

import html
import re
from collections.abc import Iterable, Sequence
from functools import cache

from tasks.crawl.docstrings import to_html

HOST = "https://docs.python-environment.example"
NEUTRAL_FOLDER = "/usr/local"
_DOCSTRING = re.compile(r'<pre class="docstring">(.*?)</pre>', re.DOTALL)
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]{4,}")
_SHARED_FOLDERS = {"", ".", "/", "/usr", "/usr/local", "/opt", "/tmp", "/var", "/home", "/root"}  # noqa: S108 - not opened
_MENU = ("Home", "Documentation", "Downloads", "Community", "Blog", "Sign in")
_MAX_RELATED = 12


def page_url(distribution: str, module: str) -> str:
    """Return the address of a module's page."""
    return f"{HOST}/{distribution}/{module}.html"


def page_html(title: str, body: str, distribution: str, module: str, related: Sequence[str]) -> str:
    """Wrap a rendered module as a page of a documentation site."""
    content = _DOCSTRING.sub(lambda match: to_html(html.unescape(match.group(1))), body)
    menu = "".join(f'<li><a href="{HOST}/{name.lower().replace(" ", "-")}/">{name}</a></li>' for name in _MENU)
    beside = "".join(f'<li><a href="{name}.html">{name}</a></li>' for name in _neighbours(module, related))
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{html.escape(title)}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="canonical" href="{page_url(distribution, module)}">
</head>
<body>
<div class="cookie-banner" role="dialog"><p>We use cookies to remember your settings.</p><button>Accept</button></div>
<header class="site-header"><a class="logo" href="{HOST}/">Python environment</a>
<nav aria-label="Main"><ul>{menu}</ul></nav></header>
<nav class="breadcrumb"><a href="{HOST}/">Home</a> &rsaquo; <a href="./">{distribution}</a> &rsaquo; {module}</nav>
<aside class="sidebar"><h3>Related modules</h3><ul>{beside}</ul></aside>
<main><article>
<h1>{html.escape(module)}</h1>
{content}
</article></main>
<footer class="site-footer"><p>Was this page helpful? <a href="#">Yes</a> <a href="#">No</a></p>
<ul><li><a href="{HOST}/imprint/">Imprint</a></li><li><a href="{HOST}/privacy/">Privacy</a></li></ul></footer>
</body>
</html>
"""


def without_machine(text: str, folders: Iterable[str]) -> str:
    """Replace the machine's own folders, longest first, and leave out memory addresses."""
    pattern = _machine_pattern(tuple(own_folders(folders)))
    return _ADDRESS.sub("", pattern.sub(NEUTRAL_FOLDER, text))


def names_machine(text: str, folders: Iterable[str]) -> bool:
    """Tell whether a text names one of the machine's own folders."""
    return bool(_machine_pattern(tuple(own_folders(folders))).search(text))


@cache
def _machine_pattern(folders: tuple[str, ...]) -> re.Pattern[str]:
    names = "|".join(map(re.escape, folders))
    return re.compile(rf"(?<![\w.-])(?:{names})(?![\w-])") if names else re.compile(r"(?!)")


def own_folders(folders: Iterable[str]) -> list[str]:
    """Return the folders that tell something about a machine, longest first."""
    given = {folder.rstrip("/") for folder in folders}
    return sorted(given - _SHARED_FOLDERS, key=lambda folder: (-len(folder), folder))


def _neighbours(module: str, related: Sequence[str]) -> list[str]:
    """Return the modules listed around this one."""
    others = [name for name in related if name != module]
    place = sum(1 for name in others if name < module)
    start = max(0, min(place - _MAX_RELATED // 2, len(others) - _MAX_RELATED))
    return others[start : start + _MAX_RELATED]
