"""A licence is known by its name or its phrases."""

import pytest

from wheelmill.config.survey.licences import find_licence
from wheelmill.config.survey.tree import SourcePlace

HERE = SourcePlace(file="LICENSE", line=1)
BSD = "Redistribution and use in source and binary\n forms, with or without modification"


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("Apache License\n  Version 2.0, January 2004", "Apache-2.0"),
        ("Licensed under the Apache License, Version 2.0", "Apache-2.0"),
        (f"{BSD} ... Neither the name of", "BSD-3-Clause"),
        (BSD, "BSD-2-Clause"),
        ("GNU GENERAL PUBLIC LICENSE Version 3 ... occasionally and noncommercially", "GPL-3.0-only"),
        (
            "GNU GENERAL PUBLIC LICENSE\n Version 3, 29 June 2007 ... the GNU Affero General Public License",
            "GPL-3.0-only",
        ),
        (
            "GNU AFFERO GENERAL PUBLIC LICENSE\n Version 3 ... the GNU General Public License, version 3",
            "AGPL-3.0-only",
        ),
        ("GNU LESSER GENERAL PUBLIC LICENSE\n Version 2.1 ... GNU General Public License, version 2", "LGPL-2.1-only"),
        ("GNU Lesser General Public License as published by the FSF, either version 3 of the License", "LGPL-3.0-only"),
        ("License :: OSI Approved :: GNU General Public License v2 (GPLv2)", "GPL-2.0-only"),
        ("GNU Free Documentation License\n Version 1.3 ... either commercially or noncommercially", "GFDL-1.3-only"),
        (
            "This is free and unencumbered software released into the public domain. ... commercial or non-commercial",
            "Unlicense",
        ),
        ("Mozilla Public License Version 2.0 ... the GNU General Public License, Version 2.0", "MPL-2.0"),
        ("bsd-3-clause", "BSD-3-Clause"),
        ("MIT License", "MIT"),
        ("CC BY-NC 4.0", "CC-BY-NC-4.0"),
        ("License :: OSI Approved :: MIT License", "MIT"),
        ("not for commercial use: non-commercial research only", "LicenseRef-NonCommercial"),
        ("for non-commercial research and evaluation", "LicenseRef-NonCommercial"),
    ],
)
def test_a_licence_is_known_by_its_words(text: str, expression: str) -> None:
    found = find_licence([(HERE, text)])
    assert found
    assert found.expression == expression


@pytest.mark.parametrize("text", ["UNKNOWN", "License :: OSI Approved :: BSD License", "", "all rights reserved"])
def test_what_could_be_several_is_none(text: str) -> None:
    assert find_licence([(HERE, text)]) is None


def test_the_first_that_is_known_counts() -> None:
    found = find_licence([(HERE, "see below"), (SourcePlace(file="PKG-INFO", line=1), "MIT")])
    assert found
    assert found.place.file == "PKG-INFO"
