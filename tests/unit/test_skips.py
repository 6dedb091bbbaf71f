"""Skips that nothing expects, expected ones that ran, and flaky tests: what a run says of them, and how it ends."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests import skips
from tests.flaky import flaky_tests
from tests.programs import install_line, is_of_a_missing_program
from tests.skips import ExpectedSkip, expected_skips, fault_of_run, fault_of_skip

ROOT = Path(__file__).parents[2]
TESTS = """
import pytest
from pathlib import Path

@pytest.mark.skipif(True, reason="nobody knows why")
def test_unexpected(): pass

@pytest.mark.skipif(True, reason="nothing-like-it is not installed: sudo apt-get install nothing-like-it")
def test_of_a_missing_program(): pass

@pytest.mark.real
def test_real(): pass

@pytest.mark.xfail(reason="it fails")
def test_expected_to_fail(): assert False

@pytest.mark.parametrize("number", [])
def test_of_nothing(number): pass

def fails_once(path):
    seen = path.exists()
    path.touch()
    assert seen, "it failed at first"

@pytest.fixture(scope="module")
def fixture():
    fails_once(Path("fixture"))

def test_of_a_fixture(fixture): pass

@pytest.mark.parametrize("name", ["a", "b"])
def test_flaky(name): fails_once(Path(name))

def test_failing(): assert False
"""


def run(folder: Path, *arguments: str) -> tuple[int, str]:
    (folder / "test_of_all_kinds.py").write_text(TESTS)
    (folder / "pytest.ini").write_text(f"[pytest]\npythonpath = {ROOT}\nmarkers =\n    real\n    nightly\n")
    plugins = ("-p", "tests.skips", "-p", "tests.flaky", "-p", "no:cacheprovider")
    command = [sys.executable, "-m", "pytest", "-rA", "--reruns", "1", *plugins, *arguments]
    variables = os.environ | {"PYTHONPATH": str(ROOT), "GITHUB_ACTIONS": "true"}
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def test_a_skip_that_nothing_expects_is_a_failure_and_flaky_tests_are_named(tmp_path: Path) -> None:
    code, said = run(tmp_path)
    lines = said.splitlines()
    failed = {line.partition(" - ")[0].rpartition("::")[2] for line in lines if line.startswith(("FAILED", "ERROR"))}
    assert failed == {"test_unexpected", "test_of_nothing[NOTSET]", "test_failing"}
    assert "skipped, which expected_skips.toml does not expect on this machine: nobody knows why" in said
    flaky = [line.split("::")[1].partition(":")[0] for line in lines if line.startswith("flaky: ")]
    assert flaky == ["test_flaky[a]", "test_flaky[b]", "test_of_a_fixture"]
    why = "AssertionError: it failed at first"
    assert f"flaky: test_of_all_kinds.py::test_of_a_fixture: {why}" in lines
    assert f"::warning title=A flaky test::test_of_all_kinds.py::test_flaky[a]: {why}" in lines
    assert lines[-1].startswith("=")
    assert code == pytest.ExitCode.TESTS_FAILED


@pytest.mark.parametrize(("chosen", "ends"), [("test_flaky", 0), ("test_flaky or test_of_a_fixture", 1)])
def test_more_than_two_flaky_tests_are_no_accident(tmp_path: Path, chosen: str, ends: int) -> None:
    code, said = run(tmp_path, "-k", chosen)
    assert ("more than 2 tests are flaky" in said, code) == (ends == 1, ends)


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A list of two entries, of a kind that this machine is and of one that it is not."""
    entries = tuple(
        ExpectedSkip(where=where, reason="of old", tests=(f"tests/{where}.py", "tests/some.py::test_one"))
        for where in ("here", "elsewhere")
    )
    monkeypatch.setattr(skips, "expected_skips", lambda: entries)
    monkeypatch.setattr(skips, "KINDS", {"here": lambda: True, "elsewhere": lambda: False})


@pytest.mark.usefixtures("listed")
def test_a_skip_is_expected_of_its_tests_for_its_reason_on_its_machine() -> None:
    expected = (
        ("tests/here.py::test", "of old"),
        ("tests/here.py::test", "of old: and more"),
        ("tests/some.py::test_one", "of old"),
    )
    unexpected = (
        ("tests/here.py::test", "another"),
        ("tests/here_too.py::test", "of old"),
        ("tests/elsewhere.py::test", "of old"),
        ("tests/some.py::test_one_more", "of old"),
    )
    assert [skip for skip in expected if fault_of_skip(*skip)] == []
    assert [skip for skip in unexpected if not fault_of_skip(*skip)] == []


@pytest.mark.usefixtures("listed")
def test_an_expected_skip_that_did_not_happen_is_a_failure() -> None:
    assert fault_of_run("tests/here.py::test") == "it ran, and expected_skips.toml expects a skip where there is: here"
    assert fault_of_run("tests/elsewhere.py::test") is None
    assert fault_of_run("tests/some.py::test_two") is None


def test_a_program_that_is_there_is_no_reason() -> None:
    reason = f"python3 is not installed: {install_line('python3')}"
    assert not is_of_a_missing_program(reason)
    assert fault_of_skip("tests/some.py::test", reason) is not None
    assert is_of_a_missing_program(reason.replace("python3", "nothing-like-it"))


def test_a_test_that_fails_twice_is_not_flaky() -> None:
    report = SimpleNamespace(nodeid="test", longrepr=None, longreprtext="why\nand where")
    assert flaky_tests({"rerun": [report]}) == {"test": "why"}
    assert flaky_tests({"rerun": [report], "error": [report]}) == {}


def test_each_entry_is_of_a_known_kind_and_of_tests_that_are_there() -> None:
    assert {entry.where for entry in expected_skips()} <= skips.KINDS.keys()
    for file, _, function in (name.partition("::") for entry in expected_skips() for name in entry.tests):
        assert f"def {function}" in (ROOT / file).read_text()


def test_each_kind_of_machine_is_recognised_or_not() -> None:
    assert {isinstance(kind(), bool) for kind in skips.KINDS.values()} == {True}
