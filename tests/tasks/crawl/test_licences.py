"""Licences are read from metadata, and never guessed."""

import pytest

from tasks.crawl.licences import normalise, recognise

BSD3 = """Redistribution and use in source and binary forms are permitted provided that: Redistributions of source
code must retain the above notice. Redistributions in binary form must reproduce it. Neither the name of the project
nor the names of its contributors may be used."""
BSD2 = BSD3.partition(" Neither")[0]
APACHE = "Apache License\n   Version 2.0, January 2004\n"


@pytest.mark.parametrize(
    ("name", "spdx"),
    [
        ("MIT", "MIT"),
        ("MIT License", "MIT"),
        ("The MIT License", "MIT"),
        ("MIT licence", "MIT"),
        ("Apache 2.0", "Apache-2.0"),
        ("Apache License, Version 2.0", "Apache-2.0"),
        ("Apache Software License 2.0", "Apache-2.0"),
        ("BSD 3-Clause License", "BSD-3-Clause"),
        ("3-Clause BSD License", "BSD-3-Clause"),
        ("PSF", "PSF-2.0"),
        ("MIT OR Apache-2.0", "MIT OR Apache-2.0"),
        ("Dual License", ""),
        ("Proprietary", ""),
        ("UNKNOWN", ""),
        ("", ""),
    ],
)
def test_a_license_field_becomes_spdx_or_nothing(name: str, spdx: str) -> None:
    assert normalise("", name, []) == spdx


def test_the_expression_field_wins_over_all_others() -> None:
    classifiers = ["License :: OSI Approved :: BSD License"]
    assert normalise("Apache-2.0 or mit", "BSD", classifiers) == "Apache-2.0 OR MIT"


def test_an_invalid_expression_is_unknown_even_if_a_classifier_could_be_read() -> None:
    assert normalise("No-Such-License", "", ["License :: OSI Approved :: MIT License"]) == ""


def test_a_single_classifier_is_read() -> None:
    labels = ["Programming Language :: Python", "License :: OSI Approved", "License :: OSI Approved :: MIT License"]
    assert normalise("", "", labels) == "MIT"


def test_several_classifiers_leave_the_choice_open_and_count_as_unknown() -> None:
    labels = ["License :: OSI Approved :: MIT License", "License :: OSI Approved :: Apache Software License"]
    assert normalise("", "", labels, [APACHE]) == ""


@pytest.mark.parametrize(
    ("texts", "spdx"), [([], ""), ([BSD3], "BSD-3-Clause"), ([BSD2], "BSD-2-Clause"), ([BSD2, BSD3], "")]
)
def test_bsd_alone_counts_only_with_a_text_that_says_which(texts: list[str], spdx: str) -> None:
    assert normalise("", "BSD", [], texts) == spdx
    assert normalise("", "", ["License :: OSI Approved :: BSD License"], texts) == spdx


def test_a_family_is_not_decided_by_a_text_of_another_family() -> None:
    assert normalise("", "BSD", [], [APACHE]) == ""


def test_a_whole_text_in_the_license_field_is_recognised() -> None:
    assert normalise("", "Copyright (c) 2020 Somebody. All rights reserved.\n" + BSD3, []) == "BSD-3-Clause"


def test_a_text_with_two_licences_is_not_recognised() -> None:
    assert recognise(BSD3 + APACHE) == ""
