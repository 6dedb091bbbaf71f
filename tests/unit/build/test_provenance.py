"""Provenance beside a wheel, bound to its bytes. What decides how a build goes, and what does not."""

import json
import shutil
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

from tests.refusals import coded
from tests.unit.build.conftest import PROVENANCE, TARGET
from tests.unit.build.test_compiler_cache import write_program
from tests.wheels import write_wheel
from wheelmill.build.docker import ContainerLimits, DockerBuilder
from wheelmill.build.provenance import (
    BuildPlace,
    BuiltWheel,
    identity_of,
    inputs_of,
    keep_provenance,
    known_failures,
    provenance_of,
    provenance_path,
    source_identity,
    this_machine,
)
from wheelmill.config.load import load_config
from wheelmill.config.model.files import LockedCommit, LockedSdist, SourceCode
from wheelmill.errors import IntegrityError
from wheelmill.names import Architecture, PythonVersion, Sha256, StableTorch, TorchNeed, TorchVersion
from wheelmill.plan.targets import BuildTarget, KnownFailure
from wheelmill.system import own_installation
from wheelmill.wheel.name import WheelFile


@pytest.fixture
def built(tmp_path: Path) -> BuiltWheel:
    """A wheel with its provenance beside it."""
    file = WheelFile.at(write_wheel(tmp_path / "demo-1.0-py3-none-any.whl"))
    built = BuiltWheel(file=file, provenance=replace(PROVENANCE, sha256=file.sha256))
    keep_provenance(built)
    return built


@pytest.mark.parametrize(
    ("torch", "written"),
    [
        (TorchVersion(2, 11), {"torch": "2.11", "torch_abi": None}),
        (StableTorch(oldest=TorchVersion(2, 10)), {"torch": None, "torch_abi": {"stable": "2.10"}}),
        (None, {"torch": None, "torch_abi": None}),
    ],
)
def test_a_range_of_torches_is_kept(torch: TorchNeed | None, written: dict[str, object], built: BuiltWheel) -> None:
    provenance = replace(built.provenance, cell=replace(built.provenance.cell, torch=torch))
    keep_provenance(replace(built, provenance=provenance))
    cell = json.loads(provenance_path(built.file.path).read_text())["cell"]
    assert {key: cell[key] for key in ("torch", "torch_abi")} == written
    assert provenance_of(built.file) == provenance


def test_provenance_from_before_there_were_ranges_is_read(built: BuiltWheel) -> None:
    kept = json.loads(provenance_path(built.file.path).read_text())
    del kept["cell"]["torch_abi"]
    provenance_path(built.file.path).write_text(json.dumps(kept))
    assert provenance_of(built.file) == built.provenance


@pytest.mark.parametrize(
    "forged", [{"torch": "2.11", "torch_abi": {"stable": "2.10"}}, {"torch": None, "torch_abi": "2.10"}]
)
def test_provenance_with_two_meanings_of_torch_is_refused(forged: dict[str, object], built: BuiltWheel) -> None:
    kept = json.loads(provenance_path(built.file.path).read_text())
    provenance_path(built.file.path).write_text(json.dumps(kept | {"cell": kept["cell"] | forged}))
    with pytest.raises(IntegrityError):
        provenance_of(built.file)


def test_a_wheel_with_other_bytes_or_that_was_not_built_here_has_none(built: BuiltWheel, tmp_path: Path) -> None:
    write_wheel(built.file.path, files={"demo/more.py": b""})
    assert provenance_of(WheelFile.at(built.file.path)) is None
    assert provenance_of(WheelFile.at(write_wheel(tmp_path / "other" / "demo-1.0-py3-none-any.whl"))) is None


def test_provenance_that_cannot_be_read_is_an_integrity_error(built: BuiltWheel) -> None:
    provenance_path(built.file.path).write_text("{}")
    with pytest.raises(IntegrityError, check=coded("record-invalid", "Provenance")):
        provenance_of(built.file)


PLACE = BuildPlace(sandbox="local", compilers=("g++ 0 g++ 14.2",))


def of_target(target: BuildTarget) -> Sha256:
    return identity_of(inputs_of(target))


@pytest.mark.parametrize(
    "other",
    [
        replace(TARGET, cell=replace(TARGET.cell, python=PythonVersion(3, 12))),
        replace(TARGET, toolkit="13.0.3"),
        replace(TARGET, torch_backend="cu130"),
        replace(TARGET, architectures=(Architecture(9, 0),)),
        replace(TARGET, package=replace(TARGET.package, env={"FORCE_CUDA": "1"})),
        replace(TARGET, package=replace(TARGET.package, memory_per_job=1 << 30)),
        replace(TARGET, package=replace(TARGET.package, abi="abi3")),
        replace(TARGET, package=replace(TARGET.package, gencode="replace")),
        replace(TARGET, package=replace(TARGET.package, gpu_probe="as-is")),
    ],
)
def test_other_inputs_are_worth_another_try(other: BuildTarget) -> None:
    assert of_target(other) != of_target(TARGET) == of_target(replace(TARGET))


def test_what_is_only_planned_does_not_decide_how_a_build_goes() -> None:
    package = replace(TARGET.package, description="other", runner="ubuntu-26.04", licence="MIT")
    package = replace(package, tags=("graph",), pypi="other")
    assert of_target(replace(TARGET, package=package)) == of_target(TARGET)
    source = LockedSdist(sdist="demo-1.0.tar.gz", sha256=Sha256("1" * 64))
    for_newer = replace(source, requires_python=SpecifierSet(">=3.10"))
    for_some = replace(for_newer, requires_dist=("torch<2.14",))
    counted = replace(source, code=SourceCode(cuda_files=1, includes_python=True))
    targets = [replace(TARGET, source=each) for each in (source, for_newer, for_some, counted)]
    assert len(set(map(of_target, targets))) == len(set(map(source_identity, targets))) == 1
    commit = LockedCommit(git="https://git.example/demo", ref="v1.0", commit="a" * 40)
    others = [replace(TARGET, source=each) for each in (commit, replace(commit, requires_dist=("torch<2.14",)))]
    assert len(set(map(of_target, others))) == len(set(map(source_identity, others))) == 1
    assert "requires_dist" not in repr(for_some)  # which earlier versions of wheelmill hashed without it


@pytest.mark.parametrize(
    ("place", "policy"),
    [
        (PLACE, "manylinux_2_28"),
        (replace(PLACE, compilers=("g++ 1 g++ 14.2",)), "auto"),
        (replace(PLACE, sandbox="docker"), "auto"),
        (replace(PLACE, images=("docker.io/library/almalinux:8@sha256:0",)), "auto"),
        (None, None),
    ],
)
def test_place_and_policy_decide_too(place: BuildPlace | None, policy: str | None) -> None:
    assert identity_of(inputs_of(TARGET, place, policy)) != identity_of(inputs_of(TARGET, PLACE, "auto"))


def test_our_own_version_decides_too(monkeypatch: pytest.MonkeyPatch) -> None:
    before = of_target(TARGET)
    monkeypatch.setattr("importlib.metadata.version", lambda _name: "99.0")
    assert of_target(TARGET) != before


def test_the_content_of_patches_and_of_a_source_folder_counts_and_not_where_it_lies(tmp_path: Path) -> None:
    folder, patch = tmp_path / "source", tmp_path / "demo.patch"
    folder.mkdir()

    def identities(content: str) -> tuple[Sha256, Sha256]:
        patch.write_text(content)
        (folder / "setup.py").write_text(content)
        patched = replace(TARGET, package=replace(TARGET.package, patches=(patch,)))
        return of_target(patched), of_target(replace(TARGET, source=folder))

    first, second = identities("a"), identities("b")
    assert first[0] != second[0]
    assert first[1] != second[1]
    assert identities("a") == first
    elsewhere = Path(shutil.copytree(folder, tmp_path / "elsewhere"))
    assert of_target(replace(TARGET, source=elsewhere)) == first[1]


def test_a_compiler_of_other_bytes_or_version_is_another_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    write_program(tmp_path / "real", "#!/bin/sh\necho g++ 14.2\n")
    write_program(tmp_path / "g++", f"#!/bin/sh\nexec {tmp_path}/real\n")
    whole = this_machine()
    write_program(tmp_path / "real", "#!/bin/sh\necho g++ 15.1\n")
    newer = this_machine()
    write_program(tmp_path / "g++", "#!/bin/sh\nexit 1\n")
    assert len({whole, newer, this_machine()}) == 3
    monkeypatch.setenv("CXX", "g++ -m64")
    assert "CXX=g++ -m64" in this_machine().compilers


def test_a_container_is_known_by_its_images() -> None:
    config = load_config(own_installation.CONFIG)
    limits = ContainerLimits(memory=1 << 30)
    builder = DockerBuilder(images=config.images, compatibility=config.compatibility, limits=limits)
    place = builder.place(TARGET)
    assert place.images == (
        str(config.images.manylinux.images[TARGET.cell.platform]),
        str(config.images.of_cuda(TARGET.cell.cuda).devel),
    )
    assert place == replace(builder, limits=ContainerLimits()).place(TARGET) != replace(place, network="bridge")


def test_a_failure_is_known_where_it_was_seen_and_pages_show_it_wherever_it_was() -> None:
    failure = KnownFailure(
        id=TARGET.cell.id, target=of_target(TARGET), failed_at=datetime(2026, 11, 20, tzinfo=UTC), reason="error: no"
    )
    failures = {identity_of(inputs_of(TARGET, PLACE, "auto")): failure}
    other = replace(PLACE, compilers=())
    assert known_failures(failures, lambda _target: PLACE, "auto")(TARGET) == failure
    assert known_failures(failures, lambda _target: PLACE, "manylinux_2_28")(TARGET) is None
    assert known_failures(failures, lambda _target: other, "auto")(TARGET) is None
    assert known_failures(failures)(TARGET) == failure
    assert known_failures(failures)(replace(TARGET, toolkit="13.0.3")) is None
