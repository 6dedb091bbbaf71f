"""Wheels that this machine builds for itself, and what is said of sources whose place they take."""

from dataclasses import replace
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.unit.client.targets import LINUX, PAGE
from tests.unit.plan.examples import CONFIG, CUDA_12, DEMO, HOPPER, PACKAGE, PY_12, TORCH_9, X86
from tests.wheels import write_wheel
from wheelmill.cli.shared import local_builds
from wheelmill.client.records import LookupOutcome, Resolution, SourceOutcome, Unresolved
from wheelmill.errors import BuildError
from wheelmill.names import Gpu, project_name, project_version
from wheelmill.wheel.name import WheelFile

FLASH = project_name("flash-attn")
SILENT = SourceOutcome(
    cached=False,
    project=FLASH,
    source=PAGE.name,
    outcome=LookupOutcome.UNREACHABLE,
    url="https://page.example/flash",
    detail="timed out",
)
MISSING = Unresolved(project=FLASH, reason="no source answered", suggestion=None)


@pytest.fixture
def unresolved(monkeypatch: pytest.MonkeyPatch) -> Resolution:
    """Nothing was chosen, as a source did not answer; any target can be built for."""
    monkeypatch.delenv("WHEELMILL_CONFIG", raising=False)
    monkeypatch.setattr(local_builds, "local_target", lambda *_: "target")
    monkeypatch.setattr(local_builds, "check_confinement", lambda _say: None)
    return Resolution(environment=LINUX, choices={}, unresolved={FLASH: MISSING}, sources=(SILENT,))


@pytest.mark.parametrize("maker", ["build_locally", "kept_wheel"])
def test_a_source_without_an_answer_is_named_by_its_url_where_a_wheel_is_built_or_was(
    maker: str,
    unresolved: Resolution,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    wheel = WheelFile.at(write_wheel(tmp_path / "flash_attn-2.8.3+cu130torch2.11-cp312-cp312-linux_x86_64.whl"))
    monkeypatch.setattr(local_builds, maker, lambda *_: wheel)
    found = local_builds.add_local_builds(unresolved, [Requirement("flash-attn")], build=maker == "build_locally")
    assert list(found.choices) == [FLASH]
    assert capsys.readouterr().err.startswith("warning: https://page.example/flash: timed out\n")


def test_the_tool_is_named(
    unresolved: Resolution, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise BuildError("build-failed", "no compiler")

    monkeypatch.setattr(local_builds, "build_locally", fail)
    with pytest.raises(BuildError):
        local_builds.add_local_builds(unresolved, [Requirement("flash-attn")], build=True)
    assert capsys.readouterr().err == "warning: https://page.example/flash: timed out\n"


def test_it_is_left_to_the_error_where_nothing_was_built(
    unresolved: Resolution, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(local_builds, "kept_wheel", lambda *_: None)
    assert local_builds.add_local_builds(unresolved, [Requirement("flash-attn")], build=False).unresolved
    assert capsys.readouterr().err == ""


def test_the_newest_version_that_was_asked_for_is_built() -> None:
    versions = tuple(map(project_version, ("2.9", "2.10", "3.0")))
    config = replace(CONFIG, packages={DEMO: replace(PACKAGE, versions=versions)})
    gpu = Gpu(capability=HOPPER)
    environment = replace(LINUX, python=PY_12, cuda=CUDA_12, torch=TORCH_9, platform=X86, gpus=(gpu,))
    target = local_builds.local_target(Requirement("demo<3"), environment, config)
    assert (target.cell.version, target.architectures) == ("2.10", (HOPPER,))
