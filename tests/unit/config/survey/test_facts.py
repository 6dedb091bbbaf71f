"""What a source declares: in PKG-INFO, else in what that would be made of."""

import re
import time

import pytest

from tests.refusals import coded
from tests.unit.config.survey.conftest import CUDA_SETUP, Source
from wheelmill.config.survey import entry, facts
from wheelmill.config.survey.entry import guess_entry
from wheelmill.errors import UsageError

INFO = "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\nSummary: a demo\nRequires-Dist: numpy\n"
PROJECT = '[project]\nname = "demo"\nversion = "1.0"\ndescription = "a demo"\ndependencies = ["numpy"]\n'


@pytest.mark.parametrize(
    "files",
    [
        {"PKG-INFO": INFO},
        {"pyproject.toml": PROJECT},
        {"setup.py": "setup(name='demo', version='1.0', description='a demo', install_requires=['numpy'])"},
        {"setup.cfg": "[metadata]\nname = demo\nversion = 1.0\ndescription = a demo\n"},
    ],
    ids=lambda files: next(iter(files)),
)
def test_each_file_says_it_alone(files: dict[str, str], source: Source) -> None:
    declared = source(**files).declared
    assert (declared.name, declared.version, declared.summary) == ("demo", "1.0", "a demo")
    assert declared.requires == (() if "setup.cfg" in files else ("numpy",))


@pytest.mark.parametrize(
    ("files", "version"),
    [
        ({"setup.py": "setup(name='demo')"}, "0.0.0"),
        ({"setup.py": "setup(name='demo', version=read())"}, None),
        ({"setup.py": "setup(name='demo', **keywords)"}, None),
        ({"setup.py": "setup(name='demo', use_scm_version=True)"}, None),
        ({"setup.py": "setup(name='demo')", "pyproject.toml": '[build-system]\nrequires = ["setuptools-scm"]\n'}, None),
        ({"setup.py": "setup(name='demo')", "pyproject.toml": '[project]\nname = "demo"\n'}, None),
        ({"setup.py": "setup(name='demo')", "setup.cfg": "[metadata]\nversion = 1.0\n"}, "1.0"),
        ({"setup.py": "setup(name='demo')", "setup.cfg": "[metadata]\nversion = attr: demo.__version__\n"}, None),
        ({}, None),
    ],
)
def test_setuptools_version_stands_for_one_that_setup_leaves_out(
    files: dict[str, str], version: str | None, source: Source
) -> None:
    assert source(**files, README="").version == version


@pytest.mark.parametrize(
    "text",
    [
        'build-system = 1\nproject = "x"\n',
        'project = {name = 1, version = [], description = {}, license = 3, classifiers = "x", urls = 1}\n',
        "[project]\ndependencies = 4\nurls = {a = 1}\nlicense = {text = 1}\n",
    ],
)
def test_odd_types_say_nothing(text: str, source: Source) -> None:
    facts = source(**{"pyproject.toml": text})
    assert (facts.declared.name, facts.declared.requires, facts.build_file) == (None, (), None)


def test_build_requirements_of_an_odd_type_are_refused(source: Source) -> None:
    facts = source(**{"pyproject.toml": "[build-system]\nrequires = 1\n", "setup.py": CUDA_SETUP})
    with pytest.raises(UsageError, check=coded("pyproject-invalid", "pyproject.toml", "demo-1.0")):
        list(guess_entry(facts))


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("pyproject.toml", "x = [", "not-toml"),
        ("setup.cfg", "no section", "source-unreadable"),
        ("PKG-INFO", "A: b\n" * 100_000, "source-unreadable"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(name: str, text: str, code: str, source: Source) -> None:
    with pytest.raises(UsageError, check=coded(code, name)):
        source(**{name: text})


@pytest.mark.parametrize(
    "words",
    [
        *(
            *("cpp_extension ", "find_package(Python ", "install(TARGETS a ", "project(", "load ", "#include <", " "),
            "set(",
        ),
        *("pybind11_add_module(#", "pybind11_add_module(\n#\n", "pybind11_add_module(\n", "import ", "\nfrom "),
    ],
)
def test_no_text_costs_the_square_of_its_size(words: str) -> None:
    """Of 200,000 characters; a pattern that starts over at each word takes minutes."""
    rows = (row for table in vars(entry).values() if isinstance(table, tuple) for row in table)
    patterns = [row[0] for row in rows if isinstance(row, tuple) and isinstance(row[0], re.Pattern)]
    patterns += [value for value in vars(facts).values() if isinstance(value, re.Pattern)]
    assert len(patterns) > 10
    start = time.process_time()
    for pattern in patterns:
        list(pattern.finditer(words * (200_000 // len(words))))
    assert time.process_time() - start < 5
