"""Book-length texts: Python's help topics joined into guides, and a test for what reads like prose.

Topics that another topic contains whole are left out. Cost: one substring search per pair of topics.
"""

import re
from collections.abc import Mapping

_GUIDES = {
    "statements": "assert assignment augassign break continue compound del exprlists for function class global if"
    " import nonlocal pass raise return try while with async yield",
    "expressions": "atom-identifiers atom-literals attribute-references await binary bitwise booleans calls comparisons"
    " conversions in lambda lists dict operator-summary power shifting slicings subscriptions unary",
    "data-model": "objects types typesfunctions typesmethods typesmodules id-classes specialattrs specialnames"
    " customization attribute-access callable-types sequence-types numeric-types context-managers",
    "built-in-types": "typesmapping typesseq typesseq-mutable string-methods truth bltin-code-objects"
    " bltin-ellipsis-object bltin-null-object bltin-type-objects",
    "text-and-numbers": "strings formatstrings identifiers integers floating imaginary numbers",
    "running-programs": "execmodel naming dynamic-features exceptions debugger",
}
_FURTHER = "further-topics"
_MIN_WORDS_PER_LINE = 4.0
_MIN_COMMON_WORDS = 0.08
_MIN_LETTERS = 0.65
_COMMON = frozenset("the of and to a in is for that or with be this as by are not it on an you".split())


def guides(topics: Mapping[str, str]) -> dict[str, str]:
    """Join help topics into guides: name -> text. Topics of unknown name go into a guide of their own."""
    texts_by_size = sorted(((name, text.strip("\n")) for name, text in topics.items()), key=lambda item: -len(item[1]))
    whole: dict[str, str] = {}
    for name, text in texts_by_size:
        if not any(text in other for other in whole.values()):
            whole[name] = text
    planned = {guide: names.split() for guide, names in _GUIDES.items()}
    known = {name for names in planned.values() for name in names}
    planned[_FURTHER] = sorted(set(whole) - known)
    texts = {
        guide: "\n\n\n".join(whole[name] for name in names if name in whole) + "\n" for guide, names in planned.items()
    }
    return {guide: text for guide, text in texts.items() if text.strip()}


def reads_like_prose(text: str) -> bool:
    """Tell English prose from word lists, tables and data: words per line, letters, and common words."""
    lines = [line for line in text.splitlines() if line.strip()]
    words = re.findall(r"[^\W\d_]+", text.lower())
    if not lines or not words or len(words) < _MIN_WORDS_PER_LINE * len(lines):
        return False
    letters = sum(map(len, words)) / sum(len(line.replace(" ", "")) for line in lines)
    common = sum(1 for word in words if word in _COMMON) / len(words)
    return letters >= _MIN_LETTERS and common >= _MIN_COMMON_WORDS
