"""Licence links that have an SPDX identifier: spdx.org and Creative Commons addresses."""

import re
from urllib.parse import unquote

_SPDX = re.compile(r"^https?://(?:www\.)?spdx\.org/licenses/(?P<id>[^?#]+?)(?:\.html|\.json|\.txt)?/?$", re.IGNORECASE)
_CREATIVE_COMMONS = re.compile(
    r"^(?:https?:)?//(?:www\.)?creativecommons\.org/"
    r"(?P<kind>licenses|publicdomain)/(?P<code>[a-z-]+)/(?P<version>\d+\.\d+)(?:/(?P<port>[a-z]{2,4}))?(?:[/?#].*)?$",
    re.IGNORECASE,
)
_PUBLIC_DOMAIN = {"ZERO": "CC0", "MARK": "CC-PDM"}
_NOT_A_PORT = {"deed", "rdf"}
_LISTED_PORTS = {
    "BY": {"2.5-AU", "3.0-AT", "3.0-AU", "3.0-DE", "3.0-IGO", "3.0-NL", "3.0-US"},
    "BY-NC": {"3.0-DE"},
    "BY-NC-ND": {"3.0-DE", "3.0-IGO"},
    "BY-NC-SA": {"2.0-DE", "2.0-FR", "2.0-UK", "3.0-DE", "3.0-IGO"},
    "BY-ND": {"3.0-DE"},
    "BY-SA": {"2.0-UK", "2.1-JP", "3.0-AT", "3.0-DE", "3.0-IGO"},
}
"""The national versions that the SPDX list has; any other becomes a ``LicenseRef-``."""


def spdx_from_url(url: str) -> str:
    """Return the SPDX identifier (or expression) that a licence link names, or an empty text.

    >>> spdx_from_url("https://creativecommons.org/licenses/by-sa/4.0/deed.de")
    'CC-BY-SA-4.0'
    """
    address = url.strip()
    if found := _SPDX.match(address):
        return unquote(found["id"])
    found = _CREATIVE_COMMONS.match(address)
    if not found:
        return ""
    code, version, port = found["code"].upper(), found["version"], (found["port"] or "").lower()
    if found["kind"].lower() == "publicdomain":
        return f"{_PUBLIC_DOMAIN[code]}-{version}" if code in _PUBLIC_DOMAIN else ""
    if not port or port in _NOT_A_PORT:
        return f"CC-{code}-{version}"
    version = f"{version}-{port.upper()}"
    return f"{'' if version in _LISTED_PORTS.get(code, ()) else 'LicenseRef-'}CC-{code}-{version}"
