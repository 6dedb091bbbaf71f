"""What a build job may deliver that was not planned, or is not what its papers say; each is an attack."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.refusals import coded
from tests.releases import NO_CODE
from tests.unit.build.conftest import MACHINE, PROVENANCE, TARGET, compile_shared_object
from tests.unit.smoke.conftest import METADATA, device_code
from tests.wheels import NOTHING, write_wheel
from wheelmill.build.builder import bill_for, facts_of, with_compilers
from wheelmill.build.source import sha256_of_tree
from wheelmill.config.model.files import LockedRequirement, LockedSdist
from wheelmill.config.model.package_parts import RequiresDist, SystemPackages
from wheelmill.errors import ReleaseError
from wheelmill.names import Architecture, Platform, PythonVersion, Sha256
from wheelmill.pipeline.gate import Gate, GpuTrials, is_named_for, is_wheel_of, subjects_of
from wheelmill.plan.targets import BuildTarget
from wheelmill.release.store import RefusedWheel
from wheelmill.smoke import verdict
from wheelmill.smoke.verdict import GPU_SUFFIX, Certificate, CleanRoom, TestedWheel, certificate_path
from wheelmill.system.records import write_record
from wheelmill.wheel.attestation import Attested, Signer
from wheelmill.wheel.build_facts import AppliedPatch, BuildFacts, SourceFacts, build_facts_bytes
from wheelmill.wheel.name import WheelFile, WheelName
from wheelmill.wheel.shared_objects import shared_objects_of
from wheelmill.wheel.sizes import Sizes

NAME = f"demo-1.0+cu130torch2.11-cp311-cp311-manylinux_2_17_{MACHINE}.whl"
PROMISED = replace(PROVENANCE, expectations=TARGET.package.expectations)
PIN = LockedRequirement(requirement="ninja==1.13.2", sha256=(Sha256("2" * 64),))
FORGED = replace(NO_CODE, cuda_major=13, sass=("sm_90",))

FACTS = "demo-1.0+cu130torch2.11.dist-info/wheelmill-build.json"
BILL = "demo-1.0+cu130torch2.11.dist-info/sboms/wheelmill.cdx.json"

PLANNED = Gate(targets=(TARGET,))
Deliver = Callable[..., Path]


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, bytes]:
    """The extension module of a wheel that is as planned, and one that lacks an architecture."""
    folder = tmp_path_factory.mktemp("code")
    cudart = compile_shared_object(folder / "libcudart.so.13", linker=["-soname=libcudart.so.13"])
    parts = {"whole": device_code(sass=[90, 120], ptx=[120]), "for Hopper": device_code(sass=[90])}
    objects = ((name, compile_shared_object(folder / "_C.so", text, needs=[cudart])) for name, text in parts.items())
    return {name: file.read_bytes() for name, file in objects}


@pytest.fixture
def deliver(tmp_path: Path, code: Mapping[str, bytes]) -> Deliver:
    """Leave a wheel and its papers as a job does, forged where a test says so."""

    def write(
        name: str = NAME,
        *,
        holds: str = "whole",
        folder: str = "group",
        metadata: str = METADATA,
        files: Mapping[str, bytes] = NOTHING,
        **said: Any,
    ) -> Path:
        path = tmp_path / folder / name
        path.parent.mkdir(exist_ok=True)
        write_wheel(path, metadata=metadata, files={"demo/__init__.py": b"", "demo/_C.so": code[holds], **files})
        sha256 = WheelFile.at(path).sha256
        certificate = Certificate(
            sha256=sha256,
            evidence=FORGED,
            clean_rooms=(CleanRoom(python="3.11.7", installed={"demo": "1.0"}, skipped=()),),
            provenance=replace(PROMISED, sha256=sha256, **said),
            sizes=Sizes(gpu_code={"sm_1": 1 << 60}, host_code=0, debug=0, other=0),
        )
        write_record(certificate_path(path), certificate)
        return path

    return write


def told_by(deliver: Deliver) -> tuple[BuildFacts, bytes]:
    """What a wheel tells of a build that was as planned: the facts, and its bill of materials."""
    code = shared_objects_of(deliver(folder="silent"))
    packages = {"torch": "2.11.0"}
    sha256, toolkit = PROMISED.source_sha256, PROMISED.toolkit
    facts = facts_of(TARGET, source_sha256=sha256, toolkit=toolkit, packages=packages, images=())
    facts = with_compilers(facts, code)
    return facts, bill_for(facts, TARGET.package, metadata=METADATA.encode(), code=code, bundled={})


def refusal_of(path: Path, *targets: BuildTarget) -> RefusedWheel:
    """Why the gate of a plan refuses a wheel."""
    admitted, (refusal,) = Gate(targets=targets or (TARGET,)).admit([path])
    assert admitted == ()
    assert refusal.filename == path.name
    return refusal


def test_a_wheel_that_is_as_planned_passes_with_the_evidence_that_was_found_now(deliver: Deliver) -> None:
    """What the job wrote of its bytes counts for nothing."""
    (wheel,), refused = PLANNED.admit([deliver()])
    assert refused == ()
    assert wheel.certificate.evidence.sass == ("sm_90", "sm_120")
    assert wheel.certificate.evidence.needed == ("libcudart.so.13",)
    assert wheel.certificate.sizes
    assert wheel.certificate.sizes.gpu_code.keys() == {"sm_90", "sm_120", "compute_120"}


def test_a_rebuilt_wheel_keeps_its_place_in_the_plan(deliver: Deliver) -> None:
    admitted, _ = PLANNED.admit([deliver(NAME.replace("-cp311-", "-2-cp311-", 1))])
    assert len(admitted) == 1


@pytest.mark.parametrize(
    "name",
    [
        NAME.replace("demo", "flash_attn"),
        NAME.replace("demo", "Demo"),
        NAME.replace("1.0", "1.00"),
        NAME.replace("1.0", "1.1"),
        NAME.replace("cu130", "cu128"),
        NAME.replace("torch2.11", "torch2.10"),
        NAME.replace("cp311", "cp312"),
        NAME.replace("cp311-cp311", "py3-none"),
        NAME.replace("cp311-cp311", "cp311-abi3"),
        NAME.replace("cp311-cp311", "cp310.cp311-cp311"),
        NAME.replace(MACHINE, "riscv64"),
        NAME.replace(f"manylinux_2_17_{MACHINE}", "any"),
    ],
)
def test_a_wheel_that_nobody_planned_is_refused(deliver: Deliver, name: str) -> None:
    assert refusal_of(deliver(name)).code == "not-planned"


@pytest.mark.parametrize(
    ("told", "refused"),
    [
        ({}, False),
        ({"compilers": ("GCC: (of my own) 99",)}, True),
        ({"source": SourceFacts(kind="commit", sha256=PROMISED.source_sha256, commit="a" * 40)}, True),
        ({"variables": {}}, True),
        ({"patches": (AppliedPatch(file="mend.patch", sha256=Sha256("2" * 64)),)}, True),
        ({"licence": "MIT"}, True),
        ({"build_requirements": ()}, True),
    ],
)
def test_what_a_wheel_tells_of_its_build_is_what_was_planned(
    deliver: Deliver, told: dict[str, Any], *, refused: bool
) -> None:
    facts, bill = told_by(deliver)
    wheel = deliver(files={FACTS: build_facts_bytes(replace(facts, **told)), BILL: bill})
    admitted, refusals = PLANNED.admit([wheel])
    assert (len(admitted), len(refusals)) == ((0, 1) if refused else (1, 0))
    for refusal in refusals:
        assert (refusal.code, FACTS in refusal.reason) == ("facts-differ", True)


def test_what_nobody_can_read_of_its_build_is_refused(deliver: Deliver) -> None:
    assert FACTS in refusal_of(deliver(files={FACTS: b"{}"})).reason
    assert BILL in refusal_of(deliver(files={BILL: b"{}"}, folder="other")).reason


@pytest.mark.parametrize("forged", [b"{}", b'{"bomFormat": "CycloneDX", "specVersion": "1.6"}', None])
def test_a_bill_of_materials_is_written_again_and_compared(deliver: Deliver, forged: bytes | None) -> None:
    facts, _ = told_by(deliver)
    files = {FACTS: build_facts_bytes(facts)}
    refusal = refusal_of(deliver(files=files if forged is None else {**files, BILL: forged}))
    assert (refusal.code, BILL in refusal.reason) == ("facts-differ", True)


@pytest.mark.parametrize(
    ("said", "refused"),
    [
        ({"name": NAME.replace("demo", "torch")}, "name-reserved"),
        ({"sample": True}, "sample"),  # else a wheel for one architecture would take the name of the one for all
    ],
)
def test_a_fake_torch_or_a_sample_is_refused_with_and_without_a_plan(
    deliver: Deliver, said: dict[str, Any], refused: str
) -> None:
    path = deliver(**said)
    _, (refusal,) = Gate().admit([path])
    assert refusal_of(path).code == refusal.code == refused


@pytest.mark.parametrize(
    ("said", "word"),
    [
        ({"cell": replace(TARGET.cell, python=PythonVersion(3, 12))}, "cell"),
        ({"architectures": (Architecture(9, 0),)}, "architectures"),
        ({"patches": (Sha256("7" * 64),)}, "patches"),
        ({"torch_release": "2.11.1"}, "torch_release"),
        ({"cxx_standard": 23}, "cxx_standard"),
        ({"nvcc_flags": ("--fmad=false",)}, "nvcc_flags"),
        ({"driver": "1.0"}, "driver"),
        ({"source": SourceFacts(kind="commit", sha256=Sha256("1" * 64), commit="a" * 40)}, "source"),
        ({"system_packages": SystemPackages(apt=("libaio-dev",))}, "system_packages"),
        ({"gpus": ()}, "gpus"),
        ({"requires_dist": RequiresDist(add=("evil",))}, "requires_dist"),
        ({"pythons": (PythonVersion(3, 11), PythonVersion(3, 12))}, "pythons"),
        ({"expectations": replace(PROMISED.expectations, imports=())}, "expectations"),
        ({"build_environment": ("ninja==1.0",)}, "version of ninja"),
        ({"build_environment": ("Ninja==none",)}, "version of Ninja"),
    ],
)
def test_papers_that_differ_from_the_plan_are_refused(deliver: Deliver, said: dict[str, Any], word: str) -> None:
    """Else a job could lower what its wheel is measured by."""
    refusal = refusal_of(deliver(**said), replace(TARGET, requirements=(PIN,)))
    assert (refusal.code, word in refusal.reason) == ("not-as-planned", True)


def test_a_version_that_the_lock_allows_was_built_with(deliver: Deliver) -> None:
    planned = replace(TARGET, requirements=(PIN,))
    built = deliver(build_environment=("ninja==1.13.2", "cmake==4.0", "local @ file:///local"))
    assert len(Gate(targets=(planned,)).admit([built])[0]) == 1


def test_one_of_two_versions_that_the_lock_allows_was_built_with(deliver: Deliver) -> None:
    """Each for some of the Pythons; one is a candidate, which was pinned and so was asked for."""
    pins = [
        LockedRequirement(requirement=f"ninja=={version}; python_version{which}'3.12'", sha256=(Sha256("2" * 64),))
        for version, which in (("1.13.2", "<"), ("1.14.0rc1", ">="))
    ]
    gate = Gate(targets=(replace(TARGET, requirements=tuple(pins)),))
    for version, count in (("1.13.2", 1), ("1.14.0rc1", 1), ("1.14.0", 0)):
        assert len(gate.admit([deliver(build_environment=(f"ninja=={version}",))])[0]) == count


def test_a_certificate_that_says_nothing_of_the_build_is_refused_where_there_is_a_plan(deliver: Deliver) -> None:
    path = deliver()
    write_record(certificate_path(path), replace(wheel_at(path).certificate, provenance=None))
    assert refusal_of(path).code == "no-provenance"
    assert len(Gate().admit([path])[0]) == 1


def test_another_source_than_the_locked_one_is_refused(deliver: Deliver) -> None:
    locked = LockedSdist(sdist="demo-1.0.tar.gz", sha256=Sha256("9" * 64))
    assert refusal_of(deliver(), replace(TARGET, source=locked)).code == "not-as-planned"
    honest = replace(TARGET, source=replace(locked, sha256=PROMISED.source_sha256))
    assert len(Gate(targets=(honest,)).admit([deliver()])[0]) == 1


def test_a_changed_source_folder_is_refused(deliver: Deliver, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "setup.py").write_text("")
    assert refusal_of(deliver(), replace(TARGET, source=source)).code == "not-as-planned"
    built = deliver(source_sha256=sha256_of_tree(source))
    assert len(Gate(targets=(replace(TARGET, source=source),)).admit([built])[0]) == 1


@pytest.mark.parametrize("gate", [Gate(), PLANNED])
def test_a_hand_written_certificate_does_not_stand_for_the_bytes(deliver: Deliver, gate: Gate) -> None:
    """It says that the wheel passed; the wheel lacks code for half of its GPUs."""
    _, (refusal,) = gate.admit([deliver(holds="for Hopper")])
    assert "architectures: no code for sm_120, compute_120" in refusal.reason


@pytest.mark.parametrize(
    ("gate", "said", "refused", "fact"),
    [
        (PLANNED, {"metadata": METADATA.replace("Name: demo", "Name: torch")}, "smoke-refused", "metadata-version: "),
        (Gate(max_size=10), {}, "smoke-refused", "size: "),
        # Else that cell would count as published and never be built.
        (Gate(), {"cell": replace(TARGET.cell, python=PythonVersion(3, 12))}, "cell-differs", "-cp312-"),
    ],
    ids=["another project in METADATA", "too large for its store", "a certificate of another cell"],
)
def test_a_wheel_that_does_not_fit_is_refused(
    deliver: Deliver, gate: Gate, said: dict[str, Any], refused: str, fact: str
) -> None:
    _, (refusal,) = gate.admit([deliver(**said)])
    assert (refusal.code, fact in refusal.reason) == (refused, True)


def test_a_wheel_that_was_not_tested_and_one_without_the_name_of_a_wheel_are_refused(deliver: Deliver) -> None:
    for name, code in ((NAME, "not-tested"), ("demo.whl", "file-name-not-a-wheel")):
        path = deliver(folder=code)
        certificate_path(path).rename(certificate_path(path.with_name(name)))
        if code == "not-tested":
            certificate_path(path).unlink()
        (refusal,) = Gate().admit([path.rename(path.with_name(name))])[1]
        assert (refusal.filename, refusal.code) == (name, code)


def test_a_certificate_that_is_none_is_named_and_holds_up_nothing(deliver: Deliver, tmp_path: Path) -> None:
    good, bad = deliver(), deliver(folder="hostile")
    certificate_path(bad).write_text("[" * 100_000)
    admitted, (refusal,) = PLANNED.admit([good, bad])
    assert [wheel.file.path for wheel in admitted] == [good]
    assert str(tmp_path) in refusal.reason


def test_one_name_from_two_jobs_is_released_from_neither(deliver: Deliver) -> None:
    paths = [deliver(), deliver(folder="hostile", files={"demo/more.py": b""})]
    admitted, (refusal,) = PLANNED.admit(paths)
    assert admitted == ()
    assert (refusal.filename, refusal.code) == (NAME, "delivered-twice")


def test_a_copy_of_a_wheel_holds_nothing_up(deliver: Deliver) -> None:
    admitted, refused = PLANNED.admit([deliver(), deliver(folder="hostile")])
    assert (len(admitted), refused) == (1, ())


def wheel_at(path: Path) -> TestedWheel:
    """A delivered wheel, as its job left it."""
    tested = verdict.tested_wheel_at(path)
    assert tested
    return tested


def attested_files(*paths: Path) -> Attested:
    """As if all that belongs to these wheels were signed."""
    files = {subject: b"{}" for path in paths for subject in subjects_of(wheel_at(path))}
    return Attested(signer=Signer("owner/repo"), files=files, faults=())


def test_an_attested_wheel_with_the_papers_of_another_job_is_refused(deliver: Deliver) -> None:
    """The bytes are right, so only the signature tells who wrote what is said of them."""
    gate = Gate(targets=(TARGET,), attested=attested_files(deliver()))
    forged = deliver(folder="hostile", seconds=0.0)
    (wheel,), (refusal,) = gate.admit([deliver(), forged])
    assert wheel.bundles == (b"{}",)
    assert (refusal.code, refusal.reason.rpartition(" ")[2]) == ("not-attested", f"{NAME}.tested.json")


def test_nothing_is_read_of_what_nobody_attests(deliver: Deliver) -> None:
    path = deliver()
    certificate_path(path).unlink()
    path.write_bytes(b"a bomb")
    _, (refusal,) = Gate(attested=attested_files()).admit([path])
    assert (refusal.code, refusal.unsigned) == ("not-attested", True)


def test_a_folder_in_the_place_of_a_certificate_holds_up_nothing(deliver: Deliver) -> None:
    good, bad = deliver(), deliver(folder="hostile")
    certificate_path(bad).unlink()
    certificate_path(bad).mkdir()
    admitted, (refusal,) = PLANNED.admit([good, bad])
    assert len(admitted) == 1
    assert refusal.code == "file-failed"


def test_a_link_in_the_place_of_a_wheel_is_refused(deliver: Deliver, tmp_path: Path) -> None:
    path = deliver()
    path.rename(tmp_path / "elsewhere.whl")
    path.symlink_to(tmp_path / "elsewhere.whl")
    assert refusal_of(path).code == "not-a-file"


ROOM_WITH_A_GPU = CleanRoom(python="3.11.7", installed={}, skipped=(), gpus=("NVIDIA H200, driver 580.65.06",))


def try_on_a_gpu(wheel: Path, folder: str = "gpu-group") -> Path:
    """Leave what the job of a machine with a GPU leaves, in a folder of its own."""
    path = certificate_path(wheel.parents[1] / folder / wheel.name, GPU_SUFFIX)
    path.parent.mkdir(exist_ok=True)
    tested = wheel_at(wheel).certificate
    write_record(path, replace(tested, clean_rooms=(ROOM_WITH_A_GPU,)))
    return path


def trials_in(folder: Path) -> GpuTrials:
    return GpuTrials(platform=TARGET.cell.platform, paths=sorted(folder.rglob("*.gpu.json")))


def test_a_release_says_on_which_gpu_a_wheel_was_tried(deliver: Deliver, tmp_path: Path) -> None:
    path = deliver()
    said = try_on_a_gpu(path)
    (wheel,), _ = Gate(targets=(TARGET,), tried=trials_in(tmp_path)).admit([path])
    assert [room.gpus for room in wheel.certificate.clean_rooms] == [(), ROOM_WITH_A_GPU.gpus]
    assert said.name in dict(subjects_of(wheel))  # and it is attested, too
    ignored, _ = PLANNED.admit([path])
    assert [len(wheel.certificate.clean_rooms) for wheel in ignored] == [1]


def test_a_wheel_that_did_not_pass_on_a_gpu_is_refused(deliver: Deliver, tmp_path: Path) -> None:
    _, (refusal,) = Gate(targets=(TARGET,), tried=trials_in(tmp_path)).admit([deliver()])
    assert refusal.code == "gpu-test-failed"


def test_what_a_gpu_said_of_a_wheel_of_another_name_counts_for_nothing(deliver: Deliver, tmp_path: Path) -> None:
    path = deliver()
    said = try_on_a_gpu(path)
    said.rename(said.with_name(f"other-{said.name}"))
    _, (refusal,) = Gate(targets=(TARGET,), tried=trials_in(tmp_path)).admit([path])
    assert refusal.code == "gpu-test-failed"


def test_what_a_gpu_said_of_other_bytes_counts_for_nothing(deliver: Deliver, tmp_path: Path) -> None:
    try_on_a_gpu(deliver())
    changed = deliver(files={"demo/more.py": b""})
    _, (refusal,) = Gate(targets=(TARGET,), tried=trials_in(tmp_path)).admit([changed])
    assert refusal.code == "gpu-test-failed"


def test_a_wheel_for_another_platform_needs_no_gpu(deliver: Deliver) -> None:
    trials = GpuTrials(platform=Platform("linux", "riscv64"), paths=())
    (wheel,), _ = Gate(targets=(TARGET,), tried=trials).admit([deliver()])
    assert wheel.gpu_certificate is None


def test_a_wheel_for_two_platforms_needs_the_gpu_of_either(deliver: Deliver) -> None:
    path = deliver(NAME.replace("manylinux", "manylinux_2_31_riscv64.manylinux"))
    for platform in (TARGET.cell.platform, Platform("linux", "riscv64")):
        with pytest.raises(ReleaseError, check=coded("gpu-test-failed")):
            GpuTrials(platform=platform, paths=()).add_to(wheel_at(path), None)


def test_what_another_job_says_of_a_gpu_is_not_taken_for_what_is_attested(deliver: Deliver, tmp_path: Path) -> None:
    path = deliver()
    said = try_on_a_gpu(path)
    (wheel,), _ = Gate(targets=(TARGET,), tried=trials_in(tmp_path)).admit([path])
    attested = Attested(signer=Signer("owner/repo"), files=dict.fromkeys(subjects_of(wheel), b"{}"), faults=())
    forged = try_on_a_gpu(path, folder="a-hostile-group")
    forged.write_text(forged.read_text().replace("H200", "B200"))
    gate = Gate(targets=(TARGET,), attested=attested, tried=trials_in(tmp_path))
    (admitted,), _ = gate.admit([path])
    assert admitted.gpu_certificate == said


@pytest.mark.parametrize(
    ("abi", "pythons", "tag", "planned"),
    [
        ("abi3", "3.11 3.12", "cp311-abi3", True),
        ("abi3", "3.11 3.12", "cp39-abi3", True),
        ("abi3", "3.11 3.12", "cp312-abi3", False),  # the oldest Python that it is for would not take it
        ("abi3", "3.11 3.12", "cp311-cp311", False),
        ("none", "3.11 3.12", "py3-none", True),
        ("none", "3.11 3.12", "cp311-abi3", False),
        ("abi3t", "3.15t", "cp315-abi3t", True),
        ("abi3t", "3.15t", "cp315-abi3.abi3t", True),  # as PEP 803 has it
        ("abi3t", "3.15t", "cp316-abi3t", False),
        ("abi3t", "3.15t", "cp315-abi3", False),
        ("abi3t", "3.15t", "cp315-cp315t", False),
        ("abi3t", "3.15t", "cp315-abi3t.cp315t", False),
        ("abi3t", "3.15", "cp315-abi3", True),
        ("abi3t", "3.15", "cp315-abi3t", False),
        ("abi3t", "3.15", "cp315-abi3.abi3t", False),
    ],
)
def test_a_wheel_has_the_abi_that_was_planned(abi: Any, pythons: str, tag: str, *, planned: bool) -> None:
    oldest, *later = map(PythonVersion.parse, pythons.split())
    cell, package = replace(TARGET.cell, python=oldest), replace(TARGET.package, abi=abi)
    target = replace(TARGET, cell=cell, package=package, pythons=(oldest, *later))
    assert is_wheel_of(WheelName.parse(NAME.replace("cp311-cp311", tag)), target) is planned


@pytest.mark.parametrize(
    ("name", "named"),
    [
        (NAME, True),
        (NAME.replace("demo", "other"), False),
        (NAME.replace("1.0", "1.1"), False),
        (NAME.replace("cu130", "cu128"), False),
        (NAME.replace(f"manylinux_2_17_{MACHINE}", "win_amd64"), False),
        (NAME.replace(f"manylinux_2_17_{MACHINE}", f"manylinux_2_17_{MACHINE}.win_amd64"), False),
        (NAME.replace("cp311-cp311", "cp312-cp312"), False),
    ],
)
def test_a_wheel_is_named_for_its_project_its_label_its_platform_and_its_pythons(name: str, *, named: bool) -> None:
    assert is_named_for(WheelName.parse(name), TARGET.cell, ()) is named
