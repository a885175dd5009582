"""From package metadata to an SPDX expression, or to nothing: a licence is read, never guessed.

Order: ``License-Expression``, then ``License``, then trove classifiers. A name that stands for several licences
("BSD", "Apache") counts only when the licence text shipped with the package says which one it is. Several
classifiers without an expression leave open whether one may choose, so they count as unknown.
"""

import re
from collections.abc import Iterable
from functools import cache

from license_expression import ExpressionError, Licensing, get_spdx_licensing

PYTHON = "PSF-2.0"
_MAX_NAME_CHARACTERS = 60
_OWN_TEXT = 2500  # characters; what is bundled with the package comes after its own licence

_NAMES = {
    "0bsd": "0BSD",
    "apache 2": "Apache-2.0",
    "apache 2.0": "Apache-2.0",
    "apache software 2.0": "Apache-2.0",
    "apache2": "Apache-2.0",
    "2 clause bsd": "BSD-2-Clause",
    "3 clause bsd": "BSD-3-Clause",
    "bsd 2 clause": "BSD-2-Clause",
    "bsd 3 clause": "BSD-3-Clause",
    "modified bsd": "BSD-3-Clause",
    "new bsd": "BSD-3-Clause",
    "simplified bsd": "BSD-2-Clause",
    "cc0 1.0": "CC0-1.0",
    "isc": "ISC",
    "isc iscl": "ISC",
    "mit": "MIT",
    "mit no attribution mit 0": "MIT-0",
    "mozilla public 2.0 mpl 2.0": "MPL-2.0",
    "mpl 2.0": "MPL-2.0",
    "psf": PYTHON,
    "psf 2.0": PYTHON,
    "python software foundation": PYTHON,
    "the unlicense unlicense": "Unlicense",
    "unlicense": "Unlicense",
    "zlib": "Zlib",
    "zlib libpng": "Zlib",
    "zope public": "ZPL-2.1",
    "gnu affero general public v3": "AGPL-3.0-only",
    "gnu affero general public v3 or later agplv3+": "AGPL-3.0-or-later",
    "gnu general public v2 gplv2": "GPL-2.0-only",
    "gnu general public v2 or later gplv2+": "GPL-2.0-or-later",
    "gnu general public v3 gplv3": "GPL-3.0-only",
    "gnu general public v3 or later gplv3+": "GPL-3.0-or-later",
    "gnu lesser general public v2 or later lgplv2+": "LGPL-2.0-or-later",
    "gnu lesser general public v3 lgplv3": "LGPL-3.0-only",
    "gnu lesser general public v3 or later lgplv3+": "LGPL-3.0-or-later",
}
"""Names without words like "the" and "license", in small letters -> SPDX."""

_FAMILIES = {"apache": "Apache-", "apache software": "Apache-", "bsd": "BSD-", "bsd style": "BSD-"}
"""Names of a family of licences -> what the shipped text must turn out to be."""

_TEXTS = (
    ("Apache-2.0", ("apache license", "version 2.0, january 2004")),
    ("Apache-2.0", ("licensed under the apache license, version 2.0",)),
    ("MPL-2.0", ("mozilla public license version 2.0",)),
    ("MIT", ("permission is hereby granted, free of charge", "the above copyright notice and this permission notice")),
    ("ISC", ("permission to use, copy, modify, and/or distribute this software for any purpose", "copyright notice")),
    (
        "BSD-3-Clause",
        ("redistributions of source code must retain", "redistributions in binary form", "neither the name"),
    ),
    ("BSD-2-Clause", ("redistributions of source code must retain", "redistributions in binary form")),
    ("GPL-", ("gnu general public license", "version 3, 29 june 2007")),
    ("GPL-", ("gnu general public license", "version 2, june 1991")),
    (PYTHON, ("python software foundation license version 2",)),
)


def normalise(expression: str, name: str, classifiers: Iterable[str], texts: Iterable[str] = ()) -> str:
    """Return the SPDX expression that a package states, or "" if it states none that can be told.

    Args:
        expression: the ``License-Expression`` field.
        name: the ``License`` field: a name, an expression or a whole text.
        classifiers: trove classifiers; those about licences are used.
        texts: the licence files that come with the package.
    """
    if expression.strip():
        return _parsed(expression)
    evidence = [*texts, name]
    stated = _parsed(name) or _named(name, evidence) or (recognise(name) if len(name) > _MAX_NAME_CHARACTERS else "")
    if stated:
        return stated
    labels = {item.rpartition(" :: ")[2] for item in classifiers if item.startswith("License :: ")}
    labels -= {"OSI Approved", "DFSG approved"}
    return _named(labels.pop(), evidence) if len(labels) == 1 else ""


def recognise(text: str) -> str:
    """Return the licence whose wording ``text`` has, or "" if there is none or more than one."""
    flat = " ".join(text.lower().replace("*", " ").split())
    found = {spdx for spdx, phrases in _TEXTS if all(phrase in flat for phrase in phrases)}
    if "BSD-3-Clause" in found:
        found.discard("BSD-2-Clause")
    return found.pop() if len(found) == 1 and "GPL-" not in found else ""


def _parsed(text: str) -> str:
    """Return a valid SPDX expression in its canonical spelling, else ""."""
    if not text.strip() or len(text) > 4 * _MAX_NAME_CHARACTERS or "\n" in text.strip():
        return ""
    try:
        parsed = _licensing().parse(text.strip(), validate=True)
    except ExpressionError:
        return ""
    return str(parsed) if parsed is not None else ""


@cache
def _licensing() -> Licensing:
    return get_spdx_licensing()


def _named(name: str, texts: list[str]) -> str:
    if not name.strip() or len(name) > _MAX_NAME_CHARACTERS:
        return ""
    words = re.sub(r"\b(?:the|licen[cs]ed?|an?)\b|[^\w.+]", " ", name.lower())
    plain = re.sub(r"\bv(?=\d+\.)", "", " ".join(words.split())).replace("version ", "")
    if plain in _NAMES:
        return _NAMES[plain]
    family = _FAMILIES.get(plain)
    shipped = {found for text in texts if family and (found := recognise(text[:_OWN_TEXT])).startswith(family)}
    return shipped.pop() if len(shipped) == 1 else ""
