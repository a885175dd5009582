"""Licence rule and blocked domains: a document enters only with a licence that is known, valid and allowed.

A document's licence is its own, else the one confirmed for its source. It must be an SPDX expression
(``LicenseRef-…`` counts) and is written in its normal form. With ``OR`` one allowed licence is enough,
with ``AND`` each must be allowed. Licence texts are parsed once each; cost per document: a dictionary look-up.
"""

import contextlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from license_expression import AND, OR, ExpressionError, LicenseWithExceptionSymbol, get_spdx_licensing
from pydantic import Field, field_validator

from configs.base import Config
from tasks.core.document import KEEP, Document, Dropped, Verdict

VERSION = 1
STAGE = "safety"

_OWN_LICENSE = re.compile(r"LicenseRef-[A-Za-z0-9.-]+")
_MAX_LICENSE_CHARACTERS = 500


class SafetyConfig(Config):
    """Which licences and which web domains may be used."""

    allowed_licenses: list[str] = Field(
        [], description="SPDX identifiers that may be used, for example CC-BY-4.0; empty: any licence that is stated."
    )
    blocked_domains: list[str] = Field(
        [], description="Domains whose pages are dropped, with all their subdomains, for example example.com."
    )

    @field_validator("allowed_licenses")
    @classmethod
    def _known(cls, licenses: list[str]) -> list[str]:
        unknown = [text for text in licenses if not normal_license(text)]
        if unknown:
            raise ValueError(f"no SPDX licence: {', '.join(unknown)}; see https://spdx.org/licenses")
        return licenses

    @field_validator("blocked_domains")
    @classmethod
    def _plain(cls, domains: list[str]) -> list[str]:
        wrong = [domain for domain in domains if not _labels(domain) or "/" in domain or ":" in domain]
        if wrong:
            raise ValueError(f"no domain name: {', '.join(map(repr, wrong))}; write it like example.com")
        return domains


def check(documents: Iterable[Document], *, config: SafetyConfig, source_license: str) -> Iterator[Document | Dropped]:
    """Yield each document with its licence in normal form, or why it may not be used."""
    allowed = frozenset(normal_license(text) for text in config.allowed_licenses)
    blocked = frozenset(_labels(domain) for domain in config.blocked_domains)
    for document in documents:
        stated = document.license.strip() or source_license.strip()
        verdict = judge_domain(document.url, blocked)
        if verdict.keep:
            verdict = judge_license(stated, allowed)
        if verdict.keep:
            yield replace(document, license=normal_license(stated))
        else:
            yield Dropped.of(document, STAGE, verdict)


def judge_license(stated: str, allowed: frozenset[str]) -> Verdict:
    """Judge a licence text; ``allowed`` holds normal forms, and none of them means any licence."""
    if not stated:
        return Verdict.drop("licence_unknown", "", "a licence")
    normal = normal_license(stated)
    if not normal:
        return Verdict.drop("licence_invalid", stated[:_MAX_LICENSE_CHARACTERS], "an SPDX expression")
    if allowed and not _is_allowed(normal, allowed):
        return Verdict.drop("licence_not_allowed", normal, " ".join(sorted(allowed)))
    return KEEP


def judge_domain(url: str, blocked: frozenset[tuple[str, ...]]) -> Verdict:
    """Judge the host of a URL against blocked domains, each as its labels from the right."""
    host = _labels(_host(url)) if blocked else ()
    for length in range(1, len(host) + 1):
        if host[:length] in blocked:
            return Verdict.drop("blocked_domain", ".".join(reversed(host)), ".".join(reversed(host[:length])))
    return KEEP


def normal_license(text: str) -> str:
    """Return an SPDX expression in its normal form, or an empty text when it is none."""
    parsed = _parse(text)
    return "" if parsed is None else str(parsed.render())


@lru_cache(maxsize=4096)
def _parse(text: str) -> Any:  # noqa: ANN401 - license_expression is untyped
    if not text.strip() or len(text) > _MAX_LICENSE_CHARACTERS:
        return None
    licensing = _licensing()
    try:
        parsed = licensing.parse(text.strip())
        unknown = licensing.unknown_license_keys(parsed)
    except (ExpressionError, ValueError, TypeError):
        return None
    return parsed if all(_OWN_LICENSE.fullmatch(key) for key in unknown) else None


@lru_cache(maxsize=1)
def _licensing() -> Any:  # noqa: ANN401
    return get_spdx_licensing()


@lru_cache(maxsize=4096)
def _is_allowed(normal: str, allowed: frozenset[str]) -> bool:
    return _allows(_parse(normal), allowed)


def _allows(node: Any, allowed: frozenset[str]) -> bool:  # noqa: ANN401
    if node.render() in allowed:
        return True
    if isinstance(node, OR):
        return any(_allows(part, allowed) for part in node.args)
    if isinstance(node, AND):
        return all(_allows(part, allowed) for part in node.args)
    return isinstance(node, LicenseWithExceptionSymbol) and node.license_symbol.render() in allowed


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


@lru_cache(maxsize=65536)
def _labels(domain: str) -> tuple[str, ...]:
    """Return a domain's labels from the right, in ASCII form where it has one."""
    name = domain.strip().strip(".").lower()
    with contextlib.suppress(UnicodeError):  # no ASCII form (a label too long, say): compared as it is written
        name = name.encode("idna").decode()
    return tuple(reversed(name.split("."))) if name else ()
