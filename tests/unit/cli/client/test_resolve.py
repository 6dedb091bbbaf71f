"""What is said of sources when a wheel of this machine takes the place of theirs."""

from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.unit.client.targets import LINUX, PAGE
from tests.wheels import write_wheel
from wheelmill.build import builder
from wheelmill.cli.client import resolve
from wheelmill.client.records import Outcome, Resolution, SourceOutcome, Unresolved
from wheelmill.errors import BuildError
from wheelmill.names import project_name
from wheelmill.wheel.name import WheelFile

FLASH = project_name("flash-attn")
SILENT = SourceOutcome(
    project=FLASH, source=PAGE, outcome=Outcome.UNREACHABLE, url="https://page.example/flash", detail="timed out"
)
MISSING = Unresolved(project=FLASH, reason="no source answered", suggestion=None)


@pytest.fixture
def unresolved(monkeypatch: pytest.MonkeyPatch) -> Resolution:
    """Nothing was chosen, as a source did not answer; any target can be built for."""
    monkeypatch.delenv("WHEELMILL_CONFIG", raising=False)
    monkeypatch.setattr(resolve, "build_target", lambda *_: "target")
    monkeypatch.setattr("wheelmill.system.sandbox.check_confinement", lambda _say: None)
    return Resolution(environment=LINUX, choices={}, unresolved={FLASH: MISSING}, sources=(SILENT,))


@pytest.mark.parametrize("maker", ["build_here", "wheel_kept"])
def test_a_source_without_an_answer_is_named_by_its_url_where_a_wheel_is_built_or_was(
    maker: str,
    unresolved: Resolution,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    wheel = WheelFile.at(write_wheel(tmp_path / "flash_attn-2.8.3+cu130torch2.11-cp312-cp312-linux_x86_64.whl"))
    monkeypatch.setattr(builder, maker, lambda *_: wheel)
    found = resolve.add_local_builds(unresolved, [Requirement("flash-attn")], build=maker == "build_here")
    assert list(found.choices) == [FLASH]
    assert capsys.readouterr().err.startswith("warning: https://page.example/flash: timed out\n")


def test_it_is_named_where_a_build_fails(
    unresolved: Resolution, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise BuildError("build-failed", "no compiler")

    monkeypatch.setattr(builder, "build_here", fail)
    with pytest.raises(BuildError):
        resolve.add_local_builds(unresolved, [Requirement("flash-attn")], build=True)
    assert capsys.readouterr().err == "warning: https://page.example/flash: timed out\n"


def test_it_is_left_to_the_error_where_nothing_was_built(
    unresolved: Resolution, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(builder, "wheel_kept", lambda *_: None)
    assert resolve.add_local_builds(unresolved, [Requirement("flash-attn")], build=False).unresolved
    assert capsys.readouterr().err == ""
