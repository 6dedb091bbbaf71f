"""A wheel of a build backend becomes one that can be published. What a wheel that was built here says of itself."""

import base64
import json
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.refusals import Coded, coded
from tests.shared_objects import compile_once
from tests.unit.build.conftest import (
    CALLS_THE_FUTURE,
    CELL,
    MACHINE,
    TARGET,
    compile_future_glibc,
    compile_shared_object,
)
from tests.unit.system.test_sandbox import confined
from tests.wheels import write_wheel
from wheelmill.build.builder import check_built, facts_of, finish_wheel
from wheelmill.build.local import repair_wheel
from wheelmill.config.model.files import LockedCommit, LockedSdist
from wheelmill.config.model.package_parts import RequiresDist
from wheelmill.errors import BuildError
from wheelmill.names import Sha256, TorchVersion
from wheelmill.plan.targets import BuildTarget
from wheelmill.system.files import sha256_of
from wheelmill.wheel.build_facts import BuildFacts, read_build_facts
from wheelmill.wheel.metadata import metadata_bytes, read_metadata
from wheelmill.wheel.name import WheelFile, WheelName
from wheelmill.wheel.platforms import AUTO_POLICY
from wheelmill.wheel.record import check_record
from wheelmill.wheel.shared_objects import shared_objects_of

RAW = f"demo-1.0-cp311-cp311-linux_{MACHINE}.whl"
DIST_INFO = "demo-1.0+cu130torch2.11.dist-info"

Finish = Callable[..., WheelFile]
Repair = Callable[[Path, str], Path]


@pytest.fixture(scope="module")
def machine_code(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A shared object that runs anywhere."""
    return compile_shared_object(tmp_path_factory.mktemp("objects") / "_C.so").read_bytes()


@pytest.fixture
def raw(tmp_path: Path, machine_code: bytes) -> Path:
    """What a build backend makes."""
    return write_wheel(tmp_path / "raw" / RAW, files={"demo/__init__.py": b"", "demo/_C.so": machine_code})


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """The folder that wheels are built from."""
    return tmp_path / "source"


@pytest.fixture(scope="module")
def repair(tmp_path_factory: pytest.TempPathFactory) -> Repair:
    """Repair a wheel; one of the same bytes is repaired once."""
    known: dict[tuple[bytes, str], Path] = {}

    def run(raw: Path, policy: str) -> Path:
        key = (raw.read_bytes(), policy)
        if key not in known:
            folder = tmp_path_factory.mktemp("repaired")
            known[key] = repair_wheel(raw, policy, CELL, folder / "wheels", log=folder / "log")
        return known[key]

    return run


@pytest.fixture
def finish(tmp_path: Path, source: Path, repair: Repair) -> Finish:
    """Finish a wheel into a folder of the test's own."""

    def run(raw: Path, target: BuildTarget = TARGET, *, policy: str = AUTO_POLICY) -> WheelFile:
        workspace = tmp_path / "workspace"
        workspace.mkdir()
        check_built(raw, target)
        repaired = Path(shutil.copy(repair(raw, policy), workspace))
        facts = facts_of(
            target, source_sha256=Sha256("1" * 64), toolkit="13.0.2", packages={"ninja": "1.13"}, images=()
        )
        source.mkdir(exist_ok=True)
        return finish_wheel(repaired, target, facts, source=source, workspace=workspace, output=tmp_path / "output")

    return run


def test_name_and_metadata_and_record_carry_label_and_allowed_platforms(raw: Path, finish: Finish) -> None:
    finished = finish(raw)
    name = WheelName.parse(finished.filename)
    assert str(name.version) == "1.0+cu130torch2.11"
    assert name.label == CELL.label
    assert all(platform.startswith("manylinux") for platform in name.platforms)
    metadata = read_metadata(metadata_bytes(finished.path))
    assert metadata.version == name.version
    assert [str(requirement) for requirement in metadata.requires_dist or ()] == ["torch==2.11.*"]
    with zipfile.ZipFile(finished.path) as archive:
        assert list(check_record(archive, DIST_INFO)) == []
        assert {member for member in archive.namelist() if ".dist-info/" in member} == {
            f"{DIST_INFO}/{member}"
            for member in ("METADATA", "RECORD", "WHEEL", "sboms/wheelmill.cdx.json", "wheelmill-build.json")
        }
        tags = archive.read(f"{DIST_INFO}/WHEEL").decode()
    assert {line for line in tags.splitlines() if line.startswith("Tag: ")} == {
        f"Tag: cp311-cp311-{platform}" for platform in name.platforms
    }


@pytest.mark.parametrize(("torch", "copied"), [(TorchVersion(2, 6), 1), (TorchVersion(2, 11), 0), (None, 1)])
def test_openmp_is_copied_unless_torch_brings_it(torch: TorchVersion | None, copied: int, tmp_path: Path) -> None:
    code = "#include <omp.h>\nint threads(void) { return omp_get_max_threads(); }"
    openmp = compile_once(tmp_path / "_C.so", ["gcc", "-shared", "-fPIC", "-fopenmp", "source.c"], {"source.c": code})
    raw = write_wheel(tmp_path / "raw" / RAW, files={"demo/__init__.py": b"", "demo/_C.so": openmp.read_bytes()})
    repaired = repair_wheel(raw, AUTO_POLICY, replace(CELL, torch=torch), tmp_path / "wheels", log=tmp_path / "log")
    with zipfile.ZipFile(repaired) as archive:
        assert len([name for name in archive.namelist() if "libgomp" in name]) == copied


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("/tmp/wheelmill/cuda/lib64", ""),
        ("$ORIGIN/../torch/lib:/tmp/wheelmill/cuda/lib64:", "$ORIGIN/../torch/lib"),
        ("$ORIGIN/../torch/lib", "$ORIGIN/../torch/lib"),
    ],
)
def test_search_paths_of_the_build_are_left_out(written: str, kept: str, tmp_path: Path, finish: Finish) -> None:
    code = compile_shared_object(tmp_path / "_C.so", linker=["-rpath", written]).read_bytes()
    files = {"demo/__init__.py": b"", "demo-1.0.data/platlib/demo/_D.so": code, "demo/_C.so": code}
    finished = finish(write_wheel(tmp_path / "raw" / RAW, files=files))
    assert {each.search_path for each in shared_objects_of(finished.path)} == {kept}
    with zipfile.ZipFile(finished.path) as archive:
        assert list(check_record(archive, DIST_INFO)) == []


def test_a_given_policy_is_the_platform_and_without_torch_the_label_is_cuda(raw: Path, finish: Finish) -> None:
    finished = finish(raw, replace(TARGET, cell=replace(CELL, torch=None)), policy="manylinux_2_28")
    name = WheelName.parse(finished.filename)
    assert f"manylinux_2_28_{MACHINE}" in name.platforms
    assert str(name.version) == "1.0+cu130"
    assert not read_metadata(metadata_bytes(finished.path)).requires_dist


def requirements_after(finish: Finish, raw: Path, **changes: tuple[str, ...]) -> list[str]:
    """What a finished wheel requires whose source required black, numpy (for tests, too) and torch."""
    wheel_requires(raw, 'black==21.4b2; extra == "dev"', "Numpy<2", 'numpy; extra == "test"', "torch>=2")
    package = replace(TARGET.package, requires_dist=RequiresDist(**changes))  # type: ignore[arg-type]  # names
    metadata = read_metadata(metadata_bytes(finish(raw, replace(TARGET, package=package)).path))
    return [str(requirement) for requirement in metadata.requires_dist or ()]


def wheel_requires(wheel: Path, *requirements: str) -> None:
    with zipfile.ZipFile(wheel) as archive:
        shared_object = archive.read("demo/_C.so")
    fields = "".join(f"Requires-Dist: {requirement}\n" for requirement in requirements)
    metadata = f"Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n{fields}"
    write_wheel(wheel, files={"demo/_C.so": shared_object}, metadata=metadata)


def test_requirements_are_taken_away_put_in_another_s_place_and_added(raw: Path, finish: Finish) -> None:
    after = requirements_after(finish, raw, remove=("black",), replace=("numpy>=2",), add=("iopath<0.2",))
    assert after == ["torch==2.11.*", "numpy>=2", "iopath<0.2"]


@pytest.mark.parametrize(
    ("changes", "refusal"),
    [
        ({"remove": ("black", "future")}, coded("requirement-absent", "requires_dist.remove", "future")),
        ({"replace": ("Future<1",)}, coded("requirement-absent", "requires_dist.replace", "future")),
        ({"add": ("NumPy",)}, coded("requirement-present", "requires_dist.add", "numpy")),
    ],
    ids=["remove", "replace", "add"],
)
def test_a_stale_change_named(changes: dict[str, tuple[str, ...]], refusal: Coded, raw: Path, finish: Finish) -> None:
    with pytest.raises(BuildError, check=refusal):
        requirements_after(finish, raw, **changes)


def test_a_hundred_thousand_requirements_are_refused_at_once(raw: Path) -> None:
    wheel_requires(raw, *(f"demo-{number}" for number in range(100_000)))
    with pytest.raises(BuildError, check=coded("raw-wheel-unreadable")):
        check_built(raw, TARGET)


def test_repair_and_finish_are_reproducible(raw: Path, finish: Finish, repair: Repair, tmp_path: Path) -> None:
    again = repair_wheel(raw, AUTO_POLICY, CELL, tmp_path / "again", log=tmp_path / "log")
    assert again.read_bytes() == repair(raw, AUTO_POLICY).read_bytes()
    first = finish(raw).sha256
    shutil.rmtree(tmp_path / "workspace")
    assert finish(raw).sha256 == first


@confined
def test_a_library_of_another_user_that_a_wheel_names_by_its_folder_is_not_grafted(tmp_path: Path) -> None:
    """RUNPATH names any folder of this machine, and auditwheel copies what it finds there."""
    library = compile_shared_object(tmp_path / "theirs" / "libsecret.so.1", linker=["-soname=libsecret.so.1"])
    code = compile_shared_object(tmp_path / "_C.so", needs=[library], linker=[f"-rpath={library.parent}"])
    hostile = write_wheel(tmp_path / "raw" / RAW, files={"demo/__init__.py": b"", "demo/_C.so": code.read_bytes()})
    with pytest.raises(BuildError, check=coded("auditwheel-refused", "libsecret.so.1")):
        repair_wheel(hostile, AUTO_POLICY, CELL, tmp_path / "wheels", log=tmp_path / "log")
    for left in tmp_path.glob("wheels/*.whl"):
        assert not [name for name in zipfile.ZipFile(left).namelist() if "libsecret" in name]


@confined
def test_a_wheel_of_another_user_that_a_build_links_to_is_not_repaired(raw: Path, tmp_path: Path) -> None:
    link = tmp_path / "linked" / RAW
    link.parent.mkdir()
    link.symlink_to(raw)
    with pytest.raises(BuildError, check=coded("auditwheel-refused")):
        repair_wheel(link, AUTO_POLICY, CELL, tmp_path / "wheels", log=tmp_path / "log")


def test_programs_stay_executable_and_data_moves_along(raw: Path, machine_code: bytes, finish: Finish) -> None:
    files = {"demo/_C.so": machine_code, "demo/__init__.py": b"", "demo-1.0.data/scripts/tool": b"#!python\n"}
    write_wheel(raw, files=files)
    with zipfile.ZipFile(raw, "a") as archive:
        program = zipfile.ZipInfo("demo/bin/tool")
        program.external_attr = 0o100755 << 16
        archive.writestr(program, b"#!/bin/sh\n")
    with zipfile.ZipFile(finish(raw).path) as archive:
        assert archive.getinfo("demo/bin/tool").external_attr >> 16 & 0o777 == 0o755
        assert archive.getinfo("demo/__init__.py").external_attr >> 16 & 0o777 == 0o644
        assert "demo-1.0+cu130torch2.11.data/scripts/tool" in archive.namelist()


def test_a_wheel_that_is_or_calls_itself_pure_is_refused(raw: Path, machine_code: bytes) -> None:
    for file, content, tag in (("demo/__init__.py", b"", None), ("demo/_C.so", machine_code, "py3-none-any")):
        write_wheel(raw, files={file: content}, tag=tag)
        with pytest.raises(BuildError, check=coded("nothing-compiled", "demo 1.0")) as refusal:
            check_built(raw, TARGET)
        assert "under 'env' in its entry" in str(refusal.value.hint)


@pytest.mark.parametrize(
    ("member", "refusal"),
    [
        ("../evil.py", coded("raw-wheel-refused", "../evil.py")),
        ("evil-1.0.dist-info/METADATA", coded("raw-wheel-unreadable", "evil-1.0.dist-info")),
        ("demo-1.0.dist-info/METADATA", coded("raw-wheel-unreadable", "'name'")),
        ("demo/_D.so", coded("raw-wheel-unreadable", "demo/_D.so")),
    ],
)
def test_a_broken_wheel_is_refused(member: str, refusal: Coded, raw: Path, machine_code: bytes, finish: Finish) -> None:
    write_wheel(raw, files={"demo/_C.so": machine_code, member: b"\x7fELF"})
    with pytest.raises(BuildError, check=refusal):
        finish(raw)


def test_what_is_no_zip_fails_the_build(raw: Path, finish: Finish) -> None:
    raw.write_bytes(b"")
    with pytest.raises(BuildError, check=coded("raw-wheel-refused")):
        finish(raw)


def test_a_package_cannot_make_the_wheel_of_another_one(machine_code: bytes, finish: Finish, tmp_path: Path) -> None:
    torch = write_wheel(tmp_path / RAW.replace("demo", "torch"), files={"torch/_C.so": machine_code})
    with pytest.raises(BuildError, check=coded("another-project", "demo 1.0", "torch")):
        finish(torch)


def test_symbols_that_a_policy_does_not_allow_are_named(finish: Finish, tmp_path: Path) -> None:
    glibc = compile_future_glibc(tmp_path / "future")
    machine_code = compile_shared_object(tmp_path / "_C.so", CALLS_THE_FUTURE, needs=[glibc])
    raw = write_wheel(tmp_path / "raw" / RAW, files={"demo/_C.so": machine_code.read_bytes()})
    facts = (RAW, f"manylinux_2_17_{MACHINE}", "  from_the_future@GLIBC_2.99 in demo/_C.so")
    with pytest.raises(BuildError, check=coded("auditwheel-refused", *facts)):
        finish(raw, policy="manylinux_2_17")


RAW_NAME = "demo-1.0-cp311-cp311-linux_x86_64.whl"
OWN_DIST_INFO = "demo-1.0+cu130torch2.11.dist-info"
COMMIT = LockedCommit(git="https://git.example/demo", ref="v1.0", commit="a" * 40, subdirectory="python")
SDIST = LockedSdist(sdist="demo-1.0.tar.gz", sha256=Sha256("1" * 64))


def facts_about(target: BuildTarget) -> BuildFacts:
    packages = {"ninja": "1.13.2", "torch": "2.11.0"}
    return facts_of(target, source_sha256=Sha256("1" * 64), toolkit="13.0.2", packages=packages, images=())


def finished(folder: Path, target: BuildTarget = TARGET, *, files: dict[str, bytes] | None = None) -> WheelFile:
    """Finish a wheel that a build backend made in a folder, of the source beside it."""
    machine_code = compile_shared_object(folder / "_C.so").read_bytes()
    raw = write_wheel(folder / RAW_NAME, files={"demo/_C.so": machine_code, **(files or {})})
    source = folder / "source"
    (source / target.subdirectory).mkdir(parents=True, exist_ok=True)
    return finish_wheel(raw, target, facts_about(target), source=source, workspace=folder, output=folder / "output")


def member(wheel: WheelFile, name: str) -> bytes:
    with zipfile.ZipFile(wheel.path) as archive:
        assert list(check_record(archive, OWN_DIST_INFO)) == []
        return archive.read(f"{OWN_DIST_INFO}/{name}")


def bill_of(wheel: WheelFile) -> dict[str, Any]:
    bill: dict[str, Any] = json.loads(member(wheel, "sboms/wheelmill.cdx.json"))
    return bill


def test_it_tells_with_what_it_was_built(tmp_path: Path) -> None:
    package = replace(TARGET.package, env={"DEMO_FLAGS": "-O2"}, licence="MIT")
    told = read_build_facts(member(finished(tmp_path, replace(TARGET, package=package)), "wheelmill-build.json"))
    assert (told.toolkit, told.torch, told.licence) == ("13.0.2", "2.11.0", "MIT")
    assert told.architectures == ("9.0", "12.0+PTX")
    assert told.build_requirements == ("ninja==1.13.2", "torch==2.11.0")
    assert told.variables["DEMO_FLAGS"] == "-O2"
    assert told.variables["TORCH_CUDA_ARCH_LIST"] == "9.0;12.0+PTX"
    assert [text.partition(":")[0] for text in told.compilers] == ["GCC"]


def test_it_tells_nothing_of_the_machine(tmp_path: Path) -> None:
    wheel = finished(tmp_path)
    told = member(wheel, "wheelmill-build.json") + member(wheel, "sboms/wheelmill.cdx.json")
    assert str(tmp_path).encode() not in told
    variables = json.loads(member(wheel, "wheelmill-build.json"))["variables"]
    assert not {"MAX_JOBS", "NVCC_THREADS", "CPATH"} & variables.keys()
    assert b"--threads" not in told


def test_two_folders_give_one_wheel(tmp_path: Path) -> None:
    assert finished(tmp_path / "first").sha256 == finished(tmp_path / "second").sha256


def test_a_commit_is_named_with_its_repository_and_its_folder(tmp_path: Path) -> None:
    package = replace(TARGET.package, pypi="other", source=COMMIT)
    wheel = finished(tmp_path, replace(TARGET, source=COMMIT, package=package))
    source = read_build_facts(member(wheel, "wheelmill-build.json")).source
    assert (source.repository, source.commit, source.ref, source.subdirectory) == (
        "https://git.example/demo",
        "a" * 40,
        "v1.0",
        "python",
    )
    itself = bill_of(wheel)["metadata"]["component"]
    assert "purl" not in itself  # the package index has another project of its name
    (ancestor,) = itself["pedigree"]["ancestors"]
    assert ancestor["purl"].startswith("pkg:generic/demo@1.0?vcs_url=git%2Bhttps://git.example/demo%40aaaa")


def test_a_repository_on_somebody_s_disk_has_no_address(tmp_path: Path) -> None:
    target = replace(TARGET, source=replace(COMMIT, git="file:///home/somebody/demo"))
    assert b"somebody" not in finished(tmp_path, target).path.read_bytes()
    wheel = finished(tmp_path / "again", target)
    assert read_build_facts(member(wheel, "wheelmill-build.json")).source.repository is None


@pytest.mark.parametrize(("source", "address"), [(SDIST, "pkg:pypi/demo@1.0%2Bcu130torch2.11"), (Path("demo"), None)])
def test_an_index_address_needs_the_package(source: LockedSdist | Path, address: str | None, tmp_path: Path) -> None:
    itself = bill_of(finished(tmp_path, replace(TARGET, source=source)))["metadata"]["component"]
    assert itself.get("purl") == address
    (ancestor,) = itself["pedigree"]["ancestors"]
    assert ancestor.get("purl") == (address and "pkg:pypi/demo@1.0?file_name=demo-1.0.tar.gz")


def test_patches_are_in_it_word_for_word(tmp_path: Path) -> None:
    patch = tmp_path / "mend.patch"
    patch.write_bytes(b"--- a/setup.py\n+++ b/setup.py\n\xff\n")
    wheel = finished(tmp_path, replace(TARGET, package=replace(TARGET.package, patches=(patch,))))
    (said,) = read_build_facts(member(wheel, "wheelmill-build.json")).patches
    assert (said.file, said.sha256) == ("mend.patch", sha256_of(patch))
    (kept,) = bill_of(wheel)["metadata"]["component"]["pedigree"]["patches"]
    assert base64.b64decode(kept["diff"]["text"]["content"]) == patch.read_bytes()


def test_licence_files_that_the_backend_left_out_are_taken_from_the_source(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "LICENSE.txt").write_text("You may.")
    (source / "NOTICE").write_text("By us.")
    (source / "COPYING").symlink_to("/etc/passwd")
    (source / "README").write_text("No licence.")
    with zipfile.ZipFile(finished(tmp_path).path) as archive:
        taken = [name.rpartition("/")[2] for name in archive.namelist() if "/licenses/" in name]
    assert taken == ["LICENSE.txt", "NOTICE"]


@pytest.mark.parametrize("place", ["licenses/LICENSE", "LICENSE"])
def test_licence_files_that_the_backend_put_in_are_left_alone(place: str, tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "COPYING").write_text("Another one.")
    wheel = finished(tmp_path, files={f"demo-1.0.dist-info/{place}": b"You may."})
    assert member(wheel, place) == b"You may."
    with zipfile.ZipFile(wheel.path) as archive:
        assert not any(name.endswith("COPYING") for name in archive.namelist())


def test_bills_of_others_stay(tmp_path: Path) -> None:
    wheel = finished(tmp_path, files={"demo-1.0.dist-info/sboms/auditwheel.cdx.json": b"{}"})
    assert member(wheel, "sboms/auditwheel.cdx.json") == b"{}"


@pytest.mark.parametrize("place", ["sboms", "wheelmill-build.json/x"])
def test_a_backend_that_put_something_else_in_that_place_is_refused(place: str, tmp_path: Path) -> None:
    with pytest.raises(BuildError, check=coded("wheel-replaced", place.partition("/")[0])):
        finished(tmp_path, files={f"demo-1.0.dist-info/{place}": b""})


def test_libraries_that_were_copied_in_are_in_it_with_their_hashes(tmp_path: Path) -> None:
    bill = bill_of(finished(tmp_path, files={"demo.libs/libgomp-1.so": b"library"}))
    (library,) = [each for each in bill["components"] if each["type"] == "file"]
    assert (library["name"], library["scope"]) == ("demo.libs/libgomp-1.so", "required")
