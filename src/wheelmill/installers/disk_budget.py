"""Disk that builds in containers and their tests still take, and the caches that are emptied where it is short.

Sizes are upper ends in decimal units. The first Python of a torch takes 39 GB with all images, further ones take 11 GB,
of which 3 GB stay.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from platformdirs import user_cache_path

from wheelmill.errors import ProcessError
from wheelmill.installers.environments import MIRROR
from wheelmill.installers.uv import run_own_uv
from wheelmill.names import PythonVersion
from wheelmill.system.containers import DISK_HINT, OwnImage, docker
from wheelmill.system.folders import check_free_disk
from wheelmill.system.progress import Progress

_GB: Final = 10**9

_IMAGES: Final[Mapping[str, int]] = {
    "-devel-": 8 * _GB,  # CUDA 11.8: 7.37 GB, https://github.com/moby/moby/issues/46425
    "-runtime-": 4 * _GB,  # CUDA 11.2 and some programs: 3.87 GB, https://github.com/saturncloud/images/pull/256
    "manylinux": 3 * _GB,  # 2.21 to 3.05 GB, https://github.com/pypa/manylinux/pull/1864
    "build": 5 * _GB,  # docker/trim-toolkit.sh leaves half of devel; a host compiler takes 0.5 GB
}
"""Unpacked bytes of images by a part of their names; those of our own come on top of their bases."""
_OTHER_IMAGE: Final = _GB
"""Bytes: the Pythons of a clean environment, or its base without CUDA."""
_BUILD: Final = _GB
"""Bytes of a source with its objects in a container, and as many of their cache."""
_TEST: Final = _GB // 2
"""Bytes of a wheel and its requirements except for torch."""
_TORCH, _PACKED_TORCH = 2.1 * _GB, 0.8 * _GB
"""Bytes that each Python has of its own: torch 2.14.1 has 1.14 GB and Triton 0.94, packed 0.55 and 0.25."""
_LIBRARIES, _PACKED_LIBRARIES = 3.5 * _GB, 2.4 * _GB
"""Bytes of NVIDIA's 20 wheels that torch 2.14.1 requires; all Pythons share them."""


def check_disks(
    images: Iterable[OwnImage],
    progress: Progress,
    *,
    python: PythonVersion,
    torch: str | None,
    torches: int | None = None,
) -> None:
    """Check that the disks have room for what one Python's build, and its test if it follows, still bring.

    Caches of what only other Pythons need may be emptied. Raises BuildError if that is not enough. `torches` is the
    number that the test downloads; None if there is no test.
    """
    missing = dict.fromkeys(name for image in images for name in image.missing())
    in_docker: dict[str, float] = {f"image {name.partition('@')[0]}": _size_of(name) for name in missing}
    in_docker["the build's container"] = _BUILD
    local: dict[str, float] = {"the build's cache": _BUILD}
    mirrored = user_cache_path("wheelmill") / MIRROR
    first = not any(mirrored.glob(f"*/torch-{torch}[-+]*"))  # a test of another Python brought the same libraries
    if torch:
        local[f"torch {torch}"] = _TORCH + _LIBRARIES * first
    if torches:
        in_docker["the test"] = _TEST + (_TORCH + _LIBRARIES if torch else 0)
        local["packages of the test"] = torches * (_PACKED_TORCH + _PACKED_LIBRARIES * first) if torch else _TEST
    for folder, needs in _by_disk(in_docker, local):
        if folder == user_cache_path("wheelmill") and shutil.disk_usage(folder).free < sum(needs.values()):
            _empty_caches(python, progress)
        check_free_disk(folder, needs, hint=DISK_HINT)


def _size_of(image: str) -> int:
    return next((taken for part, taken in _IMAGES.items() if part in image), _OTHER_IMAGE)


def _by_disk(in_docker: dict[str, float], local: dict[str, float]) -> list[tuple[Path, dict[str, float]]]:
    """Pair each disk with its needs: Docker's may be that of the cache, or of a machine of which nothing is known."""
    cache = user_cache_path("wheelmill")
    root = Path(docker("info", "--format", "{{.DockerRootDir}}").strip())
    if not os.path.exists(root):  # noqa: PTH110 - it may be in a closed folder
        return [(cache, local)]
    if root.stat().st_dev == cache.stat().st_dev:
        return [(cache, in_docker | local)]
    return [(root, in_docker), (cache, local)]


def _empty_caches(python: PythonVersion, progress: Progress) -> None:
    """Remove wheels for other Pythons from the mirror; on GitHub's machines, torch from uv's cache, too."""
    progress.step("the disk is short: emptying caches of what other Pythons need")
    for wheel in (user_cache_path("wheelmill") / MIRROR).glob("*/*-*-*-*-*.whl"):
        if {python.interpreter, "py3"}.isdisjoint(wheel.stem.split("-")[-3].split(".")):
            wheel.unlink(missing_ok=True)
    if os.environ.get("RUNNER_ENVIRONMENT") == "github-hosted":  # elsewhere it belongs to all projects of its user
        with suppress(ProcessError):  # such as another uv at work
            run_own_uv(["cache", "clean", "torch", "triton"])
