"""Disks have room for what is still to come, or are told before anything is pulled or compiled."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.fake_docker import FakeDocker
from tests.progress import RecordedProgress
from tests.refusals import coded
from tests.unit.build.conftest import TARGET
from wheelmill.errors import BuildError, ProcessError
from wheelmill.installers import disk_budget
from wheelmill.installers.disk_budget import check_disks
from wheelmill.installers.environments import MIRROR
from wheelmill.plan.targets import BuildTarget
from wheelmill.system.containers import OwnImage
from wheelmill.system.progress import Progress

GB = 10**9
WITHOUT_TORCH = replace(TARGET, cell=replace(TARGET.cell, torch=None), torch_release=None)


class Disks:
    """Disks as large as a test makes them, images that are missing, and what was removed."""

    def __init__(self) -> None:
        self.free = 0.0
        self.removed = 0.0
        """Bytes that are free in addition once uv's cache is emptied."""
        self.missing: list[str] = []
        self.cleaned: list[list[str]] = []

    def usage(self, _folder: Path) -> SimpleNamespace:
        return SimpleNamespace(free=self.free)

    def uv(self, words: list[str]) -> None:
        self.cleaned.append(words)
        self.free += self.removed


@pytest.fixture
def disks(docker: FakeDocker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Disks:
    """Disks of a machine whose cache and Docker share one."""
    disks = Disks()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "wheelmill").mkdir()
    docker.answer("info", says=f"{tmp_path}\n")
    monkeypatch.setattr(shutil, "disk_usage", disks.usage)
    monkeypatch.setenv("RUNNER_ENVIRONMENT", "github-hosted")
    monkeypatch.setattr(disk_budget, "run_own_uv", disks.uv)
    monkeypatch.setattr(OwnImage, "missing", lambda _image: disks.missing)
    return disks


def check(target: BuildTarget = TARGET, *, tests: int | None = 1, heard: Progress | None = None) -> None:
    """Check the disks for a target that is tested with some torches."""
    check_disks(
        [OwnImage(name="build")],
        heard or Progress(),
        python=target.cell.python,
        torch=target.torch_release,
        torches=tests,
    )


def needed(disks: Disks, target: BuildTarget = TARGET, *, tests: int | None = 1) -> float:
    """Read from the refusal what a build needs, in GB."""
    disks.free = 0
    with pytest.raises(BuildError) as failure:
        check(target, tests=tests)
    return float(str(failure.value).partition("needs ")[2].partition(" GB")[0])


def test_a_disk_with_exactly_that_room_is_large_enough(disks: Disks) -> None:
    disks.free = 2 * GB
    check(WITHOUT_TORCH, tests=None)
    disks.free -= 1
    with pytest.raises(BuildError, check=coded("disk-too-small", "2.0 GB")):
        check(WITHOUT_TORCH, tests=None)


EVERY_IMAGE = [
    *(
        "build",
        "quay.io/pypa/manylinux_2_28_x86_64:1@sha256:0",
        "docker.io/nvidia/cuda:13.0.2-devel-ubuntu24.04@sha256:0",
    ),
    *("runtime", "docker.io/nvidia/cuda:13.0.2-runtime-ubuntu24.04@sha256:0", "docker.io/library/almalinux:8@sha256:0"),
]


def test_only_what_is_still_to_come_counts(disks: Disks) -> None:
    assert needed(disks, WITHOUT_TORCH, tests=None) == 2
    assert needed(disks, WITHOUT_TORCH) == 3
    first = needed(disks)
    assert first == 16.9
    disks.missing = EVERY_IMAGE
    assert needed(disks) - first == pytest.approx(22, abs=0.1)
    assert needed(disks) < 42  # what a runner of GitHub has


def test_further_pythons_share_the_libraries_of_their_torch(disks: Disks, tmp_path: Path) -> None:
    first = needed(disks)
    kept = tmp_path / "wheelmill" / MIRROR / "0" / f"torch-{TARGET.torch_release}-cp39-cp39-manylinux_2_28_x86_64.whl"
    kept.parent.mkdir(parents=True)
    kept.touch()
    assert needed(disks) == pytest.approx(first - 5.9, abs=0.1)
    assert needed(disks, replace(TARGET, torch_release="2.12.0")) == first


def test_a_wheel_for_many_torches_is_tested_with_two(disks: Disks) -> None:
    assert needed(disks, tests=2) == pytest.approx(needed(disks) + 3.2, abs=0.1)


@pytest.mark.parametrize(
    "place",
    [
        (
            "/dev/shm",
            "/dev/shm",
            "9.0 GB: image docker.io/nvidia/cuda:13.0.2-devel-ubuntu24.04 8.0 GB, the build's container 1.0 GB",
        ),
        (
            "/on/another/machine",
            "wheelmill",
            "6.6 GB: the build's cache 1.0 GB, torch 2.11.0 5.6 GB",
        ),  # of its disk nothing is known
        (".", "wheelmill", "15.6 GB: image docker.io/nvidia/cuda"),
    ],
)
def test_each_disk_has_own_needs(place: tuple[str, str, str], disks: Disks, docker: FakeDocker, tmp_path: Path) -> None:
    root, folder, needs = place
    docker.answer("info", says=f"{tmp_path / root}\n")
    disks.missing = EVERY_IMAGE[2:3]
    disks.free = 1.5 * GB
    with pytest.raises(
        BuildError, check=coded("disk-too-small", tmp_path / folder, "1.5 GB free", needs, "docker system df")
    ) as failure:
        check(TARGET, tests=None)
    assert "prune" not in failure.value.explained


def test_caches_stay_where_only_dockers_own_disk_is_short(disks: Disks, docker: FakeDocker) -> None:
    docker.answer("info", says="/dev/shm\n")
    disks.missing = EVERY_IMAGE
    disks.free = 10 * GB
    with pytest.raises(BuildError, check=coded("disk-too-small", "/dev/shm")):
        check(TARGET, tests=None)
    assert disks.cleaned == []


@pytest.fixture
def mirror(tmp_path: Path) -> Callable[[], set[str]]:
    """Wheels of several Pythons, and those that are still there."""
    names = (
        "torch-2.11.0-cp310-cp310-manylinux_2_28_x86_64.whl",
        "torch-2.11.0-cp311-cp311-manylinux_2_28_x86_64.whl",
        "nvidia_cudnn_cu13-9.24.0.43-py3-none-manylinux_2_27_x86_64.whl",
        "six-1.17.0-py2.py3-none-any.whl",
        "cryptography-46.0.0-cp39-abi3-manylinux_2_28_x86_64.whl",
    )
    folder = tmp_path / "wheelmill" / "mirror"
    for number, name in enumerate(names):
        (folder / str(number)).mkdir(parents=True)
        (folder / str(number) / name).touch()
    return lambda: {path.name.partition("-cp")[0].partition("-py")[0] for path in folder.glob("*/*.whl")}


def test_caches_are_emptied_only_where_the_disk_is_short(disks: Disks, mirror: Callable[[], set[str]]) -> None:
    disks.free, disks.removed = 100 * GB, 10 * GB
    before, heard = mirror(), RecordedProgress()
    check(heard=heard)
    assert (mirror(), disks.cleaned, heard.steps) == (before, [], [])
    disks.free = 10 * GB
    check(heard=heard)
    assert disks.cleaned == [["cache", "clean", "torch", "triton"]]
    assert len(heard.steps) == 1


def test_users_caches_stay(disks: Disks, mirror: Callable[[], set[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RUNNER_ENVIRONMENT")
    disks.free, before = 10 * GB, mirror()
    with pytest.raises(BuildError, check=coded("disk-too-small")):
        check()
    assert mirror() < before
    assert disks.cleaned == []


def test_what_this_python_needs_is_mirrored(disks: Disks, tmp_path: Path, mirror: Callable[[], set[str]]) -> None:
    del mirror
    disks.free, disks.removed = 10 * GB, 10 * GB
    check()
    left = {path.name for path in (tmp_path / "wheelmill" / "mirror").glob("*/*.whl")}
    assert {name.partition("-")[0] for name in left} == {"torch", "nvidia_cudnn_cu13", "six"}
    assert "torch-2.11.0-cp311-cp311-manylinux_2_28_x86_64.whl" in left


def test_another_uv_at_work_is_no_reason_to_stop(disks: Disks, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(_words: list[str]) -> Any:
        disks.free = 100 * GB
        raise ProcessError("program-failed", "uv exited with 2", returncode=2, tail="timeout while waiting for lock")

    monkeypatch.setattr(disk_budget, "run_own_uv", busy)
    check()
    assert disks.free == 100 * GB
