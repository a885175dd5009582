"""Child process: render modules to HTML with pydoc, and nothing of this machine with them.

It is started as a script and needs the standard library only. It reads JSON lines ``[module, CPU seconds]``
and answers each with one: ``html`` and ``summary``, or ``error``. Importing may print, warn, hang or crash:
output goes to the null device, a kernel timer ends the process at the CPU limit, and the parent starts another.
pydoc's layout tables become headings, its docstrings ``<pre class="docstring">`` elements. Inherited members are left
out (their class has them), and so are all values of data, which may hold paths, addresses or the environment.
Cost: the import, then about 20 ms per module.
"""

import importlib
import inspect
import io
import json
import os
import pydoc
import re
import signal
import sys
import warnings
from typing import Any

_LEFT_OUT = {"data", "pkg-content", "author", "credits"}
_RESOLUTION_ORDER = re.compile(r"<dl><dt>Method resolution order:.*?</dl>\n", re.DOTALL)
_CLASS_TREE = re.compile(r"\A<dl>\n.*?\n</dl>\n (?=<section|\Z)", re.DOTALL)
_KIND_OF_MEMBERS = re.compile(r"(?m)^([A-Z][\w ]+ defined here):<br>\n")
_CODE_SPAN = re.compile(r'<span class="code">(.*?)(?:<br>&nbsp;)?</span>', re.DOTALL)
_MEMBER_TAGS = (
    ("<dl><dt>", '<div class="member"><p class="signature"><code>'),
    ("</dt>", "</code></p>"),
    ("<dd>", ""),
    ("</dd>", ""),
    ("</dl>", "</div>"),
)
_MIN_SPECIAL_CHARACTERS = 40
_classify_all = pydoc.classify_class_attrs


class PageDoc(pydoc.HTMLDoc):
    """pydoc's HTML with headings in place of layout tables."""

    def heading(self, *_: object) -> str:
        """Leave the heading to the site: pydoc's names the source file."""
        return ""

    def section(
        self, title: str, cls: str, contents: str, width: int = 6, prelude: str = "", *_: object, **__: object
    ) -> str:
        """Make a section of a heading, a docstring and members."""
        if cls in _LEFT_OUT:
            return ""
        level = "h3" if cls == "title" else "h2"
        if cls == "index":
            contents = _CLASS_TREE.sub("", contents)
        contents = _KIND_OF_MEMBERS.sub(r"<h4>\1</h4>\n", _RESOLUTION_ORDER.sub("", contents).replace("<hr>\n", ""))
        return f'<section class="{cls}">\n<{level}>{title}</{level}>\n{_unwrapped(prelude)}\n{contents}</section>\n'

    def markup(self, text: str, *_: object, **__: object) -> str:
        """Keep a docstring as it is."""
        return f'<pre class="docstring">{self.escape(text.expandtabs())}</pre>' if text.strip() else ""

    def docroutine(self, *arguments: Any, **named: Any) -> str:  # noqa: ANN401 - pydoc's own
        """Put the signature into a code element."""
        return _member(super().docroutine(*arguments, **named))

    def docdata(self, *arguments: Any, **named: Any) -> str:  # noqa: ANN401 - pydoc's own
        """Put the name into a code element."""
        return _member(super().docdata(*arguments, **named))

    docproperty = docdata

    def docother(self, object: object, name: str | None = None, mod: object = None, *_: object) -> str:
        """Name a value without showing it."""
        return f"<strong>{name}</strong>"


def _unwrapped(html: str) -> str:
    return _CODE_SPAN.sub(r"\1", html)


def _member(html: str) -> str:
    html = _unwrapped(html)
    for old, new in _MEMBER_TAGS:
        html = html.replace(old, new)
    return html


def _documentation(object: object) -> str:
    """Stand in for pydoc's own: a docstring, but not the comments above a definition."""
    return (pydoc._getdoc(object) or "").rstrip()  # type: ignore[attr-defined]


def _classify_own(cls: type) -> list[tuple[str, str, type, object]]:
    """Stand in for pydoc's listing: only members that the class defines, and special ones only with a description."""
    return [entry for entry in _classify_all(cls) if entry[2] is cls and entry[1] != "data" and _is_shown(*entry)]


def _is_shown(name: str, kind: str, cls: type, value: object) -> bool:
    if not name.startswith("__"):
        return True
    return inspect.isfunction(value) and len(value.__doc__ or "") > _MIN_SPECIAL_CHARACTERS


def render(name: str) -> dict[str, str]:
    """Import a module and return its page body and the first line of its docstring."""
    module = importlib.import_module(name)
    body = PageDoc().docmodule(module, name)
    summary = _documentation(module).strip().partition("\n")[0]
    return {"html": re.sub(r"</?p>", "", _unwrapped(body)), "summary": summary}


def main() -> None:
    """Serve requests until the other end is closed."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="surrogatepass")
    requests = os.fdopen(os.dup(0), encoding="utf-8")
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    sys.stdin, sys.stdout, sys.stderr = io.StringIO(), io.StringIO(), io.StringIO()
    warnings.simplefilter("ignore")
    pydoc.getdoc = _documentation
    pydoc.classify_class_attrs = _classify_own  # type: ignore[assignment]
    for line in requests:
        name, cpu_seconds = json.loads(line)
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, cpu_seconds)
        try:
            answer = render(name)
        except BaseException as error:  # noqa: BLE001 - whatever an import does, it is an answer
            answer = {"error": type(error).__name__}
        signal.setitimer(signal.ITIMER_PROF, 0)
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
    os._exit(0)  # exit handlers of imported modules must not run


if __name__ == "__main__":
    main()
