"""Licence rule and blocked domains."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from configs.base import ConfigFileError
from tasks.core.document import Document, Dropped, Locator
from tasks.safety.stage import SafetyConfig, check, normal_license


def document(license_stated: str = "", url: str = "http://a.example/") -> Document:
    return Document(b"0" * 16, "web", "", url, Locator("f", 0), None, "", license_stated, "Text.", num_bytes=5)


def judged(item: Document, source_license: str = "", **settings: list[str]) -> Document | Dropped:
    (result,) = check([item], config=SafetyConfig.checked(settings, "test"), source_license=source_license)
    return result


def license_of(result: Document | Dropped) -> str:
    assert isinstance(result, Document)
    return result.license


def reason(result: Document | Dropped) -> tuple[str, str, str]:
    assert isinstance(result, Dropped)
    assert result.stage == "safety"
    return result.reason, result.value, result.limit


def test_without_a_licence_of_its_own_or_its_source_a_document_is_dropped() -> None:
    """R-8.2-1."""
    assert reason(judged(document())) == ("licence_unknown", "", "a licence")
    assert reason(judged(document(" "), " ")) == ("licence_unknown", "", "a licence")


def test_its_own_licence_comes_before_that_of_the_source() -> None:
    assert license_of(judged(document(), "CC0-1.0")) == "CC0-1.0"
    assert license_of(judged(document("mit"), "CC0-1.0")) == "MIT"


@pytest.mark.parametrize(
    ("stated", "normal"),
    [
        ("MIT", "MIT"),
        ("apache-2.0 or MIT", "Apache-2.0 OR MIT"),
        ("(MIT OR ISC) AND CC-BY-4.0", "(MIT OR ISC) AND CC-BY-4.0"),
        ("Apache-2.0 WITH LLVM-exception", "Apache-2.0 WITH LLVM-exception"),
        ("LicenseRef-My-1.0", "LicenseRef-My-1.0"),
        ("LicenseRef-a AND MIT", "LicenseRef-a AND MIT"),
        ("BSD", ""), ("GPL v2", ""), ("MIT AND", ""), ("( MIT", ""), ("all rights reserved", ""), ("MIT,", ""),
        ("LicenseRef-", ""), ("MIT " * 1000, ""), ("", ""),
    ],
)  # fmt: skip
def test_only_spdx_expressions_are_licences(stated: str, normal: str) -> None:
    assert normal_license(stated) == normal
    if stated and not normal:
        assert reason(judged(document(stated)))[0] == "licence_invalid"


@pytest.mark.parametrize(
    ("stated", "allowed", "kept"),
    [
        ("MIT", ["MIT"], True),
        ("MIT", ["mit", "ISC"], True),
        ("GPL-3.0-only", ["MIT"], False),
        ("MIT OR GPL-3.0-only", ["MIT"], True),
        ("MIT AND GPL-3.0-only", ["MIT"], False),
        ("MIT AND (GPL-3.0-only OR ISC)", ["MIT", "ISC"], True),
        ("Apache-2.0 WITH LLVM-exception", ["Apache-2.0"], True),
        ("Apache-2.0 WITH LLVM-exception", ["Apache-2.0 WITH LLVM-exception"], True),
        ("Apache-2.0", ["Apache-2.0 WITH LLVM-exception"], False),
        ("LicenseRef-mine", ["LicenseRef-mine"], True),
        ("LicenseRef-mine", ["MIT"], False),
        ("GPL-3.0-only", [], True),
    ],
)
def test_allowed_licences_follow_and_or_with(stated: str, allowed: list[str], kept: bool) -> None:
    result = judged(document(stated), allowed_licenses=allowed)
    assert isinstance(result, Document) is kept
    if not kept:
        assert reason(result)[0] == "licence_not_allowed"


@pytest.mark.parametrize(
    ("url", "blocked"),
    [
        ("http://example.com/a", "example.com"),
        ("https://www.EXAMPLE.com:8080/a", "www.example.com"),
        ("http://notexample.com/", ""),
        ("http://example.com.evil.org/", ""),
        ("http://example.com./", "example.com"),
        ("http://bücher.example/", "xn--bcher-kva.example"),
        ("", ""),
        ("http://[broken", ""),
    ],
)
def test_a_blocked_domain_goes_with_all_below_it_and_nothing_else(url: str, blocked: str) -> None:
    result = judged(document("MIT", url), blocked_domains=["Example.com", "bücher.example"])
    assert isinstance(result, Document) is not bool(blocked)
    if blocked:
        assert reason(result)[:2] == ("blocked_domain", blocked)


def test_settings_that_can_match_nothing_are_refused() -> None:
    with pytest.raises(ConfigFileError, match="no SPDX licence: BSD"):
        SafetyConfig.checked({"allowed_licenses": ["MIT", "BSD"]}, "test")
    with pytest.raises(ConfigFileError, match="no domain name: 'http://a/'"):
        SafetyConfig.checked({"blocked_domains": ["http://a/"]}, "test")


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_licence_text_and_url_give_a_verdict(stated: str, url: str) -> None:
    assert judged(document(stated, url), blocked_domains=["example.com"])
