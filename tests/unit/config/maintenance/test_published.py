"""What file names, METADATA and libraries of torch's wheels on an index tell."""

import datetime as dt
import hashlib
from collections.abc import Iterator
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from types import SimpleNamespace

import pytest
from packaging.version import Version

from tests.git_repositories import Commit, repository
from tests.refusals import coded
from tests.shared_objects import compiled
from tests.simple_server import Answer, Server, serving
from tests.torch_index import write_torch_index
from tests.unit.plan.examples import ARM, CUDA_12, CUDA_13, FACTS, TORCH_9, TORCH_11, X86
from tests.wheels import write_wheel
from wheelmill.config.load import load_compatibility
from wheelmill.config.maintenance.published import (
    PublishedTorch,
    candidates_among,
    own_builds,
    published_torch,
    read_symbols,
    stale_torches,
    with_pythons,
)
from wheelmill.config.model.compatibility import Compatibility, TorchFacts
from wheelmill.errors import IntegrityError, NetworkError, UnreadableError, UsageError
from wheelmill.index.serve import serve_folder
from wheelmill.names import CudaVersion, PythonVersion, TorchVersion, project_version
from wheelmill.system import own_installation
from wheelmill.web.client import Web
from wheelmill.wheel.torch_symbols import MachineLibraries, TorchSymbols

T210, T211 = TorchVersion(2, 10), TorchVersion(2, 11)
WHEEL = "torch-2.11.0-cp312-cp312-manylinux_2_28_x86_64.whl"
CUDA_130 = ("cuda-toolkit[cublas,cudart]==13.0.2; platform_system == 'Linux'",)


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of the index that this machine is set to."""
    with serve_folder(tmp_path) as url:
        monkeypatch.setenv("UV_DEFAULT_INDEX", f"{url}simple/")
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        yield tmp_path


def published(index: Path, *names: str) -> dict[TorchVersion, PublishedTorch]:
    write_torch_index(index, dict.fromkeys(names, CUDA_130))
    return dict(published_torch(since=T210))


def cuda_of(index: Path, *requirements: str) -> CudaVersion | None:
    write_torch_index(index, {WHEEL: requirements})
    return published_torch(since=T210)[T211].default_cuda


def test_a_release_is_what_its_wheels_for_linux_say(index: Path) -> None:
    found = published(
        index,
        "torch-2.11.0-cp313-cp313t-manylinux_2_28_x86_64.whl",
        "torch-2.11.0-cp310-cp310-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
        "torch-2.11.0-cp314-cp314-linux_x86_64.whl",
        "torch-2.11.0-cp311-cp311-manylinux_2_29_aarch64.whl",
        "torch-2.11.0-cp311-cp311-musllinux_1_2_x86_64.whl",
        "torch-2.11.0-cp311-cp311-win_amd64.whl",
        "torch-2.11.0-cp311-none-macosx_11_0_arm64.whl",
        "torch-2.11.0.tar.gz",
        "no-wheel.whl",
    )
    (release,) = found.values()
    assert release.release == "2.11.0"
    assert release.python == {
        X86: {PythonVersion(3, 10), PythonVersion(3, 13, free_threaded=True), PythonVersion(3, 14)},
        ARM: {PythonVersion(3, 11)},
    }
    assert str(release.glibc) == "2.28"
    assert release.default_cuda == CudaVersion(13, 0)


def test_the_newest_final_release_counts(index: Path) -> None:
    tags = "cp312-cp312-manylinux_2_28_x86_64.whl"
    versions = ("2.9.1", "2.10.2", "2.10.10", "2.10.9", "2.11.0rc1", "2.10.11.dev1", "2.10.12+cu130", "2.11.0")
    found = published(index, *(f"torch-{version}-{tags}" for version in versions))
    assert {torch: release.release for torch, release in found.items()} == {T210: "2.10.10", T211: "2.11.0"}


def test_a_release_for_another_platform_alone_does_not_count(index: Path) -> None:
    found = published(index, WHEEL, "torch-2.11.1-cp312-cp312-manylinux_2_28_aarch64.whl")
    assert found[T211].release == "2.11.0"
    assert set(found[T211].python) == {X86}


def test_a_yanked_release_does_not_count(index: Path) -> None:
    write_torch_index(index, {WHEEL: CUDA_130}, attributes='data-yanked="broken"')
    assert published_torch(since=T210) == {}


@pytest.mark.parametrize(
    ("requirement", "cuda"),
    [
        ('nvidia-cuda-runtime-cu11 (==11.7.99) ; platform_system == "Linux" and platform_machine == "x86_64"', (11, 7)),
        ('nvidia-cuda-runtime-cu12 (==12.1.5) ; platform_system == "Linux" and platform_machine == "x86_64"', (12, 1)),
        ("nvidia-cuda-runtime-cu12==12.8.90; platform_system == 'Linux' and platform_machine == 'x86_64'", (12, 8)),
        ("nvidia-cuda-runtime==13.0.96; platform_system == 'Linux'", (13, 0)),
        ("cuda-toolkit[cublas,cudart,nvrtc]==13.2.1; sys_platform == 'linux'", (13, 2)),
        ("CUDA_Toolkit==13.2.1", (13, 2)),
    ],
)
def test_the_cuda_of_a_wheel_is_the_one_it_requires(index: Path, requirement: str, cuda: tuple[int, int]) -> None:
    assert cuda_of(index, requirement) == CudaVersion(*cuda)


def test_what_is_required_elsewhere_does_not_count(index: Path) -> None:
    elsewhere = "nvidia-cuda-runtime==12.9.79; platform_machine == 'aarch64'"
    extra = "cuda-toolkit==13.2.1; extra == 'newer'"
    assert cuda_of(index, *CUDA_130, elsewhere, extra) == CudaVersion(13, 0)


@pytest.mark.parametrize(
    "requirements",
    [
        (),
        ("cuda-toolkit>=13.0",),
        ("cuda-toolkit==13.*",),
        ("cuda-toolkit==13.0.2", "nvidia-cuda-runtime==13.2.51"),
        ("nvidia-cuda-runtime==?",),
    ],
    ids=["none", "a range", "a major release", "two that differ", "no requirement"],
)
def test_a_cuda_that_is_not_told_is_not_guessed(index: Path, requirements: tuple[str, ...]) -> None:
    assert cuda_of(index, *requirements) is None


def test_a_wheel_without_metadata_on_the_index_tells_no_cuda(index: Path) -> None:
    write_torch_index(index, {WHEEL: None})
    assert published_torch(since=T210)[T211].default_cuda is None


def test_metadata_must_have_the_hash_that_the_index_gives(index: Path) -> None:
    write_torch_index(index, {WHEEL: CUDA_130})
    right = hashlib.sha256((index / "simple" / "torch" / f"{WHEEL}.metadata").read_bytes()).hexdigest()
    write_torch_index(index, {WHEEL: CUDA_130}, attributes=f'data-core-metadata="sha256={right}"')
    assert published_torch(since=T210)[T211].default_cuda == CudaVersion(13, 0)
    write_torch_index(index, {WHEEL: CUDA_130}, attributes=f'data-core-metadata="sha256={"0" * 64}"')
    with pytest.raises(IntegrityError, check=coded("metadata-hash-differs", WHEEL)):
        published_torch(since=T210)


PY_12, PY_13 = PythonVersion(3, 12), PythonVersion(3, 13)


@pytest.fixture
def template(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of the indexes in the folder, one for each CUDA."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with serve_folder(tmp_path) as url:
        yield f"{url}cu{{cuda}}/simple/"


def write(folder: Path, cuda: str, *builds: str) -> None:
    """Write the index of a CUDA: builds are versions with the tags of one wheel."""
    names = [f"torch-{build}.whl" for build in builds]
    write_torch_index(folder / cuda, dict.fromkeys(names))


def tagged(*tags: str) -> str:
    """The address of a repository with these tags."""
    return repository(Commit({"README.md": ""}, tags=tags)).path.as_uri()


def test_builds_are_for_the_cuda_of_their_label(template: str, tmp_path: Path) -> None:
    write(
        tmp_path,
        "cu130",
        "2.16.0+cu130-cp312-cp312-manylinux_2_28_x86_64",
        "2.16.0+cu130-cp313-cp313-manylinux_2_28_aarch64",
        "2.16.0+cu130-cp312-cp312-win_amd64",
        "2.16.0+cu126-cp310-cp310-manylinux_2_28_x86_64",
        "2.17.0.dev20261122+cu130-cp312-cp312-manylinux_2_28_x86_64",
        "2.14.0+cu130-cp312-cp312-manylinux_2_28_aarch64",
    )
    write(tmp_path, "cu128", "2.16.0+cu128-cp313-cp313-manylinux_2_31_x86_64")
    builds = own_builds(template, [CUDA_13, CUDA_12, CudaVersion(12, 6)])
    assert list(builds) == [Version("2.16.0")]
    assert builds[Version("2.16.0")].cuda == {X86: {CUDA_12, CUDA_13}, ARM: {CUDA_13}}


@pytest.mark.parametrize("named", ["2.12.0", "2.12.0rc1"])
def test_a_candidate_is_known_by_its_tag_or_by_its_version(named: str, template: str, tmp_path: Path) -> None:
    """Upstream gives the wheels of a candidate the version of the release to come."""
    repository = tagged("v2.12.0-rc1", "v2.12.0-rc10", "v2.12.0-rc9", "v2.12.0-rc", "v2.11.0-rc12")
    write(
        tmp_path,
        "cu130",
        f"{named}+cu130-cp312-cp312-manylinux_2_28_x86_64",
        f"{named}+cu130-cp313-cp313-manylinux_2_28_x86_64",
        "2.11.0+cu130-cp312-cp312-manylinux_2_28_x86_64",
        "2.12.1rc1+cu130-cp312-cp312-manylinux_2_28_x86_64",
    )
    torch = replace(FACTS.torch, repository=repository)
    found, unknown = candidates_among(own_builds(template, [CUDA_13]), torch, [TORCH_11])
    candidate = TorchVersion(2, 12, 10 if named == "2.12.0" else 1)
    assert (list(found), unknown) == ([candidate], ())
    facts = found[candidate]
    assert facts.release == named
    assert facts.python == {X86: {PY_12, PY_13}}
    assert facts.cuda == {X86: {CUDA_13}}
    assert (str(facts.glibc), facts.default_cuda) == ("2.28", CUDA_13)


def test_of_several_candidates_the_newest_counts(template: str, tmp_path: Path) -> None:
    builds = (f"2.12.0rc{number}+cu130-cp312-cp312-manylinux_2_28_x86_64" for number in (2, 10, 9))
    write(tmp_path, "cu130", *builds, "2.13.0rc1+cu130-cp312-cp312-manylinux_2_28_x86_64")
    found, _ = candidates_among(own_builds(template, [CUDA_13]), FACTS.torch, [TORCH_11])
    assert list(found) == [TorchVersion(2, 12, 10), TorchVersion(2, 13, 1)]


def test_what_the_facts_have_is_no_candidate_where_the_package_index_lags_behind(template: str, tmp_path: Path) -> None:
    write(tmp_path, "cu130", "2.11.0+cu130-cp312-cp312-manylinux_2_28_x86_64")
    assert candidates_among(own_builds(template, [CUDA_13]), FACTS.torch, [TORCH_9]) == ({}, ())


@pytest.mark.parametrize("repository", [None, "without a tag"])
def test_an_unnumbered_candidate_is_not_guessed(repository: str | None, template: str, tmp_path: Path) -> None:
    write(tmp_path, "cu130", "2.12.0+cu130-cp312-cp312-manylinux_2_28_x86_64")
    torch: TorchFacts = replace(FACTS.torch, repository=tagged() if repository else None)
    found, unknown = candidates_among(own_builds(template, [CUDA_13]), torch, [TORCH_11])
    assert found == {}
    assert unknown == ("torch 2.12: 2.12.0 is a release candidate, and no tag tells its number",)


def test_an_object_store_forbids_what_it_does_not_have(template: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """download.pytorch.org answers so for a CUDA without an index; the package index must not."""
    forbidden = SimpleNamespace(status=HTTPStatus.FORBIDDEN, ok=False, outcome="403 Forbidden")
    monkeypatch.setattr(Web, "get", lambda *_, **__: forbidden)
    assert own_builds(template, [CUDA_13]) == {}
    with pytest.raises(NetworkError, check=coded("no-project-page", "torch", "403")):
        published_torch(since=TORCH_11)


def test_of_the_pythons_of_the_file_those_that_nobody_has_go(template: str, tmp_path: Path) -> None:
    write(tmp_path, "cu130", "2.11.0+cu130-cp313-cp313-manylinux_2_28_x86_64")
    pythons = {X86: frozenset({PY_12})}
    published = PublishedTorch(release=project_version("2.11.0"), python=pythons, glibc=None, default_cuda=CUDA_13)
    known = {X86: frozenset({PythonVersion(3, 9), PY_12, PY_13}), ARM: frozenset({PY_12})}
    builds = own_builds(template, [CUDA_13])
    assert with_pythons(published, known, builds).python == {X86: {PY_12, PY_13}}
    assert with_pythons(published, known, {}).python == {X86: {PY_12}}
    assert with_pythons(published, known, None).python == {X86: known[X86]}


TODAY, LATER = dt.date(2026, 11, 22), dt.date(2026, 12, 24)
NAME = "torch-{}-cp312-cp312-manylinux_2_28_x86_64.whl"


@pytest.fixture
def torch_index(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """The index that this machine is set to, without a project."""
    with serving(Server()) as server:
        monkeypatch.setenv("UV_DEFAULT_INDEX", f"{server.url}/simple/")
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        yield server


@pytest.fixture
def facts() -> Compatibility:
    """Of torch 2.10 and 2.11."""
    known = load_compatibility(own_installation.CONFIG)
    releases = {torch: known.torch[torch] for torch in (TorchVersion(2, 10), TorchVersion(2, 11))}
    return replace(known, torch=replace(known.torch, releases=releases))


def offer(torch_index: Server, folder: Path, *, requires: str = "filelock", **libraries: str) -> None:
    """Put a wheel of torch on the index for each release: ``r2_11_0="_ZN2at1aEv"`` is what it exports."""
    names = []
    for number, (release, symbol) in enumerate(libraries.items()):
        code = compiled(folder / f"{number}.so", f"void {symbol}(void) {{}}").read_bytes()
        name = NAME.format(release.removeprefix("r").replace("_", "."))
        metadata = f"Metadata-Version: 2.1\nName: torch\nVersion: {name.split('-')[1]}\nRequires-Dist: {requires}\n"
        files = {"torch/lib/libtorch_cpu.so": code, "torch/bin/tool": b"\x7fELF"}
        wheel = write_wheel(folder / name, metadata=metadata, files=files)
        torch_index.html[f"/files/{name}"] = Answer(content=wheel.read_bytes())
        names.append(name)
    links = "".join(f'<a href="/files/{name}">{name}</a>' for name in names)
    torch_index.html["/simple/torch/"] = Answer(content=f"<!DOCTYPE html>{links}".encode(), content_type="text/html")


def offer_nvidia(torch_index: Server, folder: Path) -> None:
    """Let torch require cuBLAS through ``cuda-toolkit``, and put wheels of both on the index."""
    wheels = {
        "cuda-toolkit": write_wheel(
            folder / "cuda_toolkit-13.0.2-py3-none-any.whl",
            metadata="Metadata-Version: 2.1\nName: cuda-toolkit\nVersion: 13.0.2\n"
            'Requires-Dist: nvidia-cublas==13.*; extra == "cublas"\nRequires-Dist: nvidia-nvjpeg; extra == "nvjpeg"\n',
            files={},
        ),
        "nvidia-cublas": write_wheel(
            folder / "nvidia_cublas-13.1.0-py3-none-manylinux_2_27_x86_64.whl",
            metadata="Metadata-Version: 2.1\nName: nvidia-cublas\nVersion: 13.1.0\n",
            files={"nvidia/cu13/lib/libcublas.so.13": b"", "nvidia/cu13/include/cublas.h": b""},
        ),
    }
    for project, wheel in wheels.items():
        torch_index.html[f"/files/{wheel.name}"] = Answer(content=wheel.read_bytes())
        link = f'<!DOCTYPE html><a href="/files/{wheel.name}">{wheel.name}</a>'
        torch_index.html[f"/simple/{project}/"] = Answer(content=link.encode(), content_type="text/html")


def read(facts: Compatibility, table: TorchSymbols | None = None, *, today: dt.date = TODAY) -> TorchSymbols:
    found = read_symbols(facts, table, today=today, tell=lambda _: None)
    assert found is not None
    return found


def test_the_libraries_of_each_torch_are_read(torch_index: Server, facts: Compatibility, tmp_path: Path) -> None:
    offer(torch_index, tmp_path, r2_10_0="_ZN2at1aEv", r2_11_0="_ZN2at1bEv")
    table = read(facts)
    assert {name: bits for name, (bits, _) in table.places.items()} == {"_ZN2at1aEv": 1, "_ZN2at1bEv": 2}
    assert [build.wheel for build in table.summary.builds] == [NAME.format("2.10.0"), NAME.format("2.11.0")]
    assert table.summary.checked == "2026-11-22"
    assert stale_torches(facts, table.summary) == []
    assert [build.libraries for build in table.summary.builds] == [
        (MachineLibraries(machine="x86_64", names=("libtorch_cpu.so",)),)
    ] * 2


def test_libraries_of_nvidia_are_those_of_required_wheels(
    torch_index: Server, facts: Compatibility, tmp_path: Path
) -> None:
    offer(torch_index, tmp_path, r2_10_0="_ZN2at1aEv", r2_11_0="_ZN2at1bEv", requires="cuda-toolkit[cublas]==13.0.2")
    offer_nvidia(torch_index, tmp_path)
    assert [build.nvidia for build in read(facts).summary.builds] == [("libcublas.so.13",)] * 2


def test_what_is_current_is_not_read_again(torch_index: Server, facts: Compatibility, tmp_path: Path) -> None:
    offer(torch_index, tmp_path, r2_10_0="_ZN2at1aEv", r2_11_0="_ZN2at1bEv")
    table = read(facts)
    torch_index.asked.clear()
    assert read(facts, table, today=LATER) == table
    assert torch_index.asked == []


def test_a_new_torch_joins_those_that_are_known(torch_index: Server, facts: Compatibility, tmp_path: Path) -> None:
    offer(torch_index, tmp_path, r2_10_0="_ZN2at1aEv")
    table = read(facts)
    assert stale_torches(facts, table.summary) == [TorchVersion(2, 11)]
    offer(torch_index, tmp_path, r2_10_0="_ZN2at1zEv", r2_11_0="_ZN2at1aEv")
    newer = read(facts, table, today=LATER)
    assert {name: bits for name, (bits, _) in newer.places.items()} == {"_ZN2at1aEv": 0b11}
    assert newer.summary.checked == "2026-12-24"


def test_a_torch_that_the_index_lacks_is_told(torch_index: Server, facts: Compatibility, tmp_path: Path) -> None:
    offer(torch_index, tmp_path, r2_10_0="_ZN2at1aEv", r2_11_1="_ZN2at1bEv")
    told: list[str] = []
    read_symbols(facts, None, today=TODAY, tell=told.append)
    assert told[1] == "torch 2.11: the index has no wheel of 2.11.0 for linux_x86_64"


def test_an_index_without_torch_is_told(torch_index: Server, facts: Compatibility) -> None:
    assert torch_index.html == {}
    with pytest.raises(UsageError, check=coded("torch-not-in-index", "torch")):
        read(facts)


def test_a_wheel_without_libraries_is_refused(torch_index: Server, facts: Compatibility, tmp_path: Path) -> None:
    offer(torch_index, tmp_path, r2_10_0="_ZN2at1aEv")
    name = NAME.format("2.10.0")
    torch_index.html[f"/files/{name}"] = Answer(
        content=write_wheel(tmp_path / name, files={"torch/a.py": b""}).read_bytes()
    )
    with pytest.raises(UnreadableError, check=coded("torch-without-libraries")):
        read(facts)
