"""What a wheel that was built here says of itself."""

import base64
import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.refusals import coded
from tests.unit.build.conftest import TARGET, compile_shared_object
from tests.wheels import write_wheel
from wheelmill.build.builder import facts_of, finish_wheel
from wheelmill.config.model.files import LockedCommit, LockedSdist
from wheelmill.errors import BuildError
from wheelmill.names import Sha256
from wheelmill.plan.targets import BuildTarget
from wheelmill.system.files import sha256_of
from wheelmill.wheel.build_facts import BuildFacts, read_build_facts
from wheelmill.wheel.name import WheelFile
from wheelmill.wheel.record import check_record

RAW = "demo-1.0-cp311-cp311-linux_x86_64.whl"
DIST_INFO = "demo-1.0+cu130torch2.11.dist-info"
COMMIT = LockedCommit(git="https://git.example/demo", ref="v1.0", commit="a" * 40, subdirectory="python")
SDIST = LockedSdist(sdist="demo-1.0.tar.gz", sha256=Sha256("1" * 64))


def facts_about(target: BuildTarget) -> BuildFacts:
    packages = {"ninja": "1.13.2", "torch": "2.11.0"}
    return facts_of(target, source_sha256=Sha256("1" * 64), toolkit="13.0.2", packages=packages, images=())


def finished(folder: Path, target: BuildTarget = TARGET, *, files: dict[str, bytes] | None = None) -> WheelFile:
    """Finish a wheel that a build backend made in a folder, of the source beside it."""
    machine_code = compile_shared_object(folder / "_C.so").read_bytes()
    raw = write_wheel(folder / RAW, files={"demo/_C.so": machine_code, **(files or {})})
    source = folder / "source"
    (source / target.subdirectory).mkdir(parents=True, exist_ok=True)
    return finish_wheel(raw, target, facts_about(target), source=source, workspace=folder, output=folder / "output")


def member(wheel: WheelFile, name: str) -> bytes:
    with zipfile.ZipFile(wheel.path) as archive:
        assert list(check_record(archive, DIST_INFO)) == []
        return archive.read(f"{DIST_INFO}/{name}")


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
