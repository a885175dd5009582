"""Licence links to SPDX identifiers."""

import pytest

from tasks.core.licenses import spdx_from_url


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://spdx.org/licenses/MIT", "MIT"),
        ("https://spdx.org/licenses/Apache-2.0.html", "Apache-2.0"),
        ("https://spdx.org/licenses/MIT%20OR%20Apache-2.0", "MIT OR Apache-2.0"),
        ("http://creativecommons.org/licenses/by/4.0/", "CC-BY-4.0"),
        ("https://creativecommons.org/licenses/by-sa/4.0/deed.de", "CC-BY-SA-4.0"),
        ("//creativecommons.org/licenses/by-nc-nd/3.0", "CC-BY-NC-ND-3.0"),
        ("https://creativecommons.org/licenses/by/3.0/us/", "CC-BY-3.0-US"),
        ("https://creativecommons.org/licenses/by-sa/2.0/de/", "LicenseRef-CC-BY-SA-2.0-DE"),
        ("https://creativecommons.org/publicdomain/zero/1.0/", "CC0-1.0"),
        ("https://creativecommons.org/publicdomain/mark/1.0/", "CC-PDM-1.0"),
        ("https://creativecommons.org/publicdomain/other/1.0/", ""),
        ("https://example.org/spdx.org/licenses/MIT", ""),
        ("/terms.html", ""),
        ("", ""),
    ],
)
def test_a_licence_link_names_its_spdx_identifier_or_nothing(url: str, expected: str) -> None:
    assert spdx_from_url(url) == expected
