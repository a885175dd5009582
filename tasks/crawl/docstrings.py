"""Docstrings to HTML blocks: headings, paragraphs, lists, definitions and code, as a documentation site shows them.

Property: no word is lost, and code keeps its lines and indentation. Method: paragraphs are cut at blank lines and
told apart by their first characters, reStructuredText markers and the NumPy and Google conventions. Cost: linear.
"""

import html
import re
import textwrap

_HEADING_LINE = re.compile(r"([=\-~^*#\"'+`.:])\1{2,}\s*")
_NAMED_SECTION = re.compile(
    r"(?:Args|Arguments|Keyword Arguments|Keyword Args|Parameters|Returns|Return value|Yields|Raises|Attributes"
    r"|Examples?|Notes?|See also|References|Warnings?|Usage|Methods)\s*:",
    re.IGNORECASE,
)
_BULLET = re.compile(r"(?:[-*+•]|\(?\d{1,2}[.)])\s+(?=\S)")
_CODE_START = re.compile(r">>> |\.\.\. |\$ |% |In \[\d+\]:|[+|][-=+| ]{3,}|={3,}\s+={2,}|\|.*\|")
_CODE_LINE = re.compile(
    r"\s*(?:[\w.\[\]'\"]+(?:, ?\w+)*\s*[-+*/|]?=\s*\S.*|import \w.*|from \S+ import .*|return\b.*"
    r"|(?:async )?def \w+\(.*|class \w+.*:|(?:if|for|while|with|try|else|elif|except|async) ?.*:|@\w.*"
    r"|[\w.]+\(.*\)?|.*[\[({,]|[\])}].*|#.*|<.*>|--?\w.*)\s*"
)
_FIELD = re.compile(r":\w+[^:]*: |[\w*`'\"., ]{1,40}?(?: ?\([^()]{1,60}\))?(?:(?<! ):| --?) +\S")
_ROLE = re.compile(r":(?:[a-z]+:)?[a-z]+:`~?([^`<]+?)(?:\s*<[^`>]*>)?`")
_LITERAL = re.compile(r"``(.+?)``|`([^`\s][^`]*)`_{0,2}")
_DIRECTIVE = re.compile(r"\.\. ([a-z:-]+)::\s*(.*)")
_HIDDEN_DIRECTIVES = {"currentmodule", "module", "index", "autosummary", "toctree", "plot", "only", "highlight"}
_CODE_SHARE = 0.75


def to_html(docstring: str) -> str:
    """Return the HTML of a docstring."""
    return "\n".join(_blocks(docstring.expandtabs().strip("\n").splitlines()))


def _blocks(lines: list[str]) -> list[str]:
    found: list[str] = []
    code_follows = False
    for paragraph in _paragraphs(lines):
        indented = paragraph[0].startswith(" ")
        if indented and (code_follows or _is_code(paragraph)):
            found.append(_code(paragraph))
            continue
        code_follows = paragraph[-1].rstrip().endswith("::")
        found.extend(_paragraph([line.rstrip() for line in textwrap.dedent("\n".join(paragraph)).splitlines()]))
    return _joined_code(found)


def _paragraphs(lines: list[str]) -> list[list[str]]:
    paragraphs: list[list[str]] = [[]]
    for line in lines:
        if line.strip():
            paragraphs[-1].append(line)
        elif paragraphs[-1]:
            paragraphs.append([])
    return [paragraph for paragraph in paragraphs if paragraph]


def _paragraph(lines: list[str]) -> list[str]:
    first = lines[0]
    if len(lines) > 1 and _HEADING_LINE.fullmatch(lines[1]) and len(first) <= len(lines[1]) + 2:
        return [f"<h5>{_inline(first)}</h5>", *(_blocks(lines[2:]) if lines[2:] else [])]
    if len(lines) > 2 and _HEADING_LINE.fullmatch(first) and _HEADING_LINE.fullmatch(lines[2]):
        return [f"<h5>{_inline(lines[1])}</h5>", *(_blocks(lines[3:]) if lines[3:] else [])]
    if _HEADING_LINE.fullmatch(first) and len(lines) == 1:
        return []
    if _NAMED_SECTION.fullmatch(first):
        return [f"<h5>{_inline(first.rstrip(':'))}</h5>", *(_blocks(lines[1:]) if lines[1:] else [])]
    if directive := _DIRECTIVE.match(first):
        return _directive(directive.group(1), directive.group(2), lines[1:])
    if _CODE_START.match(first) or _is_code(lines):
        return [_code(lines)]
    if _BULLET.match(first):
        return [_list(lines)]
    if any(line.startswith(" ") for line in lines[1:]):
        return _definitions(lines)
    if len(lines) > 1 and all(_FIELD.match(line) for line in lines):
        return [f"<p>{_inline(line)}</p>" for line in lines]
    return _prose(lines)


def _prose(lines: list[str]) -> list[str]:
    """Make a paragraph; a list or doctest that begins without a blank line ends it."""
    for number, line in enumerate(lines[1:], 1):
        if line.startswith(">>> ") or _BULLET.match(line):
            return [*_prose(lines[:number]), *_paragraph(lines[number:])]
    text = " ".join(line.strip() for line in lines)
    return [f"<p>{_inline(text[:-1] if text.endswith('::') else text)}</p>"] if text != "::" else []


def _directive(name: str, argument: str, body: list[str]) -> list[str]:
    if name in _HIDDEN_DIRECTIVES:
        return []
    dedented = textwrap.dedent("\n".join(body)).splitlines()
    if name in {"code", "code-block", "sourcecode", "math", "parsed-literal"}:
        return [_code(dedented)] if dedented else []
    label = name.rstrip(":").replace("version", "version ").replace("deprecated", "deprecated since").capitalize()
    return [
        f"<p><strong>{html.escape(label)}</strong> {_inline(argument)}</p>",
        *(_blocks(dedented) if dedented else []),
    ]


def _list(lines: list[str]) -> str:
    entries: list[list[str]] = []
    for line in lines:
        marker = _BULLET.match(line.lstrip())
        if marker or not entries:
            entries.append([line.lstrip()[marker.end() :] if marker else line])
        else:
            entries[-1].append(line.strip())
    return "<ul>\n" + "\n".join(f"<li>{_inline(' '.join(entry))}</li>" for entry in entries) + "\n</ul>"


def _definitions(lines: list[str]) -> list[str]:
    """Terms at the margin, each with an indented description."""
    found: list[str] = []
    body: list[str] = []
    term = ""
    for line in [*lines, ""]:
        if line.startswith(" "):
            body.append(line)
            continue
        if body:
            if _FIELD.match(term) and not _is_code(body):
                found[-1:] = _prose([term, *body])
            else:
                found.extend(_described(body))
            body = []
        term = line
        if line:
            found.append(
                f"<p><strong>{_inline(line)}</strong></p>"
                if len(line) < 80 and not _FIELD.match(line)
                else f"<p>{_inline(line)}</p>"
            )
    return found


def _described(body: list[str]) -> list[str]:
    return _blocks(textwrap.dedent("\n".join(body)).splitlines())


def _is_code(lines: list[str]) -> bool:
    if _CODE_START.match(lines[0].strip() + " "):
        return True
    return len(lines) > 1 and sum(1 for line in lines if _CODE_LINE.fullmatch(line)) >= _CODE_SHARE * len(lines)


def _code(lines: list[str]) -> str:
    return f"<pre>{html.escape(textwrap.dedent(chr(10).join(lines)).strip(chr(10)), quote=False)}</pre>"


def _joined_code(blocks: list[str]) -> list[str]:
    """Join code that only blank lines separate."""
    joined: list[str] = []
    for block in blocks:
        if block.startswith("<pre>") and joined and joined[-1].startswith("<pre>"):
            joined[-1] = joined[-1][: -len("</pre>")] + "\n\n" + block[len("<pre>") :]
        else:
            joined.append(block)
    return joined


def _inline(text: str) -> str:
    """Drop reStructuredText roles and mark literals."""
    escaped = html.escape(_ROLE.sub(r"``\1``", text.strip()), quote=False)
    return _LITERAL.sub(lambda match: f"<code>{match.group(1) or match.group(2)}</code>", escaped)
