"""Where ``images.yml`` and the registries differ, and bringing the file up to date."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from wheelmill.config.annotations import KeyPath
from wheelmill.config.document import read_document
from wheelmill.config.model.images import CudaImages, ImageReference, Images
from wheelmill.config.upkeep.amend import amend
from wheelmill.config.upkeep.drift import Drift
from wheelmill.names import CudaVersion

Current = Callable[[ImageReference], ImageReference | None]
"""Gives an image the digest that its tag has now; None when there is no such tag."""

_SOURCE: Final = "the registries, asked by 'wheelmill config images --refresh'"


@dataclass(frozen=True, kw_only=True)
class ImageDifference:
    """One value of ``images.yml``, as the file writes it."""

    key_path: KeyPath
    file: str | None
    """None for a CUDA release that is missing."""
    registry: str | Mapping[str, str] | None
    """For a CUDA release that is missing all its values; None when the registry no longer has the tag."""

    @property
    def writable(self) -> bool:
        """Whether the registry tells what the file must say."""
        return self.registry is not None

    @property
    def key(self) -> str:
        """``cuda.releases.12.8.devel``."""
        return ".".join(map(str, self.key_path))

    def __str__(self) -> str:
        """``cuda.releases.12.8.devel: docker.io/nvidia/cuda:...@sha256:..., the registry has sha256:...``."""
        match self.registry:
            case None:
                return f"{self.key}: {self.file}, the registry no longer has this tag"
            case str(new):
                tagged, _, digest = new.rpartition("@")
                same_tag = bool(tagged) and str(self.file).startswith(f"{tagged}@")
                return f"{self.key}: {self.file}, the registry has {digest if same_tag else new}"
            case values:
                return f"{self.key}: missing ({', '.join(f'{name} {value}' for name, value in values.items())})"


def find_image_drift(images: Images, toolkits: Mapping[CudaVersion, str], current: Current) -> Drift[ImageDifference]:
    """Ask for every tag of the file, and for those of toolkits that it has no images of.

    What is unknown is toolkits without images.

    Args:
        images: the images as ``images.yml`` pins them.
        toolkits: the toolkit release that is built with, of every CUDA release.
        current: asks a registry for the current digest; its errors pass through.
    """
    differences: list[ImageDifference] = []
    unknown: list[str] = []
    for platform, image in sorted(images.manylinux.images.items()):
        differences += _difference(("manylinux", "images", str(platform)), image, current)
    differences += _difference(("plain", "image"), images.plain.image, current)
    for cuda in sorted(images.cuda.keys() | toolkits.keys()):
        pinned, wished = images.cuda.get(cuda), _missing_images(images, cuda, toolkits.get(cuda))
        if wished:
            devel, runtime = current(wished.devel), current(wished.runtime)
            if devel and runtime:
                differences += _other_toolkit(cuda, pinned, replace(wished, devel=devel, runtime=runtime))
                continue
            absent = wished.runtime if devel else wished.devel
            unknown.append(f"CUDA {cuda}: the registry has no {absent.tagged}")
        if pinned:
            differences += _difference(("cuda", "releases", str(cuda), "devel"), pinned.devel, current)
            differences += _difference(("cuda", "releases", str(cuda), "runtime"), pinned.runtime, current)
    return Drift(differences=tuple(differences), unknown=tuple(unknown))


def write_differences(path: Path, differences: Collection[ImageDifference], *, checked: dt.date) -> None:
    """Bring ``images.yml`` up to date with what is writable, and date the parts of it that the registries confirm.

    Raises:
        ConfigurationError: the file cannot be changed in place; then it stays as it was.
    """
    keys = {str(CudaVersion.parse(key)): key for key in read_document(path).content["cuda"]["releases"]}
    values: dict[KeyPath, Any] = {}
    for part in {"manylinux", "plain", "cuda"} - {each.key_path[0] for each in differences if not each.writable}:
        values |= {(part, "checked"): checked.isoformat(), (part, "source"): _SOURCE}
    for difference in differences:
        if difference.writable:
            values[tuple(keys.get(str(key), key) for key in difference.key_path)] = difference.registry
    amend(path, values)


def _difference(key_path: KeyPath, pinned: ImageReference, current: Current) -> Iterator[ImageDifference]:
    now = current(pinned)
    if now != pinned:
        yield ImageDifference(key_path=key_path, file=str(pinned), registry=str(now) if now else None)


def _missing_images(images: Images, cuda: CudaVersion, toolkit: str | None) -> CudaImages | None:
    """The images of a toolkit that the file has none of, named as its nearest ones; their digests are still those."""
    older = [known for known in images.cuda if known <= cuda]
    nearest = images.cuda.get(max(older, default=min(images.cuda, default=cuda)))
    if toolkit is None or nearest is None or nearest.toolkit == toolkit:
        return None
    devel, runtime = (
        replace(image, tag=image.tag.replace(nearest.toolkit, toolkit, 1)) for image in (nearest.devel, nearest.runtime)
    )
    return CudaImages(toolkit=toolkit, devel=devel, runtime=runtime)


def _other_toolkit(cuda: CudaVersion, pinned: CudaImages | None, found: CudaImages) -> Iterator[ImageDifference]:
    place = ("cuda", "releases", str(cuda))
    new = values_of(found)
    if pinned is None:
        yield ImageDifference(key_path=place, file=None, registry=new)
        return
    for key, old in values_of(pinned).items():
        yield ImageDifference(key_path=(*place, key), file=old, registry=new[key])


def values_of(images: CudaImages) -> dict[str, str]:
    """The images of a CUDA release as the file writes them: ``{toolkit: ..., devel: ..., runtime: ...}``."""
    return {"toolkit": images.toolkit, "devel": str(images.devel), "runtime": str(images.runtime)}
