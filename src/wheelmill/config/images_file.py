"""``images.yml``: its form, and the records that are made of it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Annotated

from wheelmill.config.document import KeyPath
from wheelmill.config.fields import EachKeyOnce, Entry, Form, KnownPlatform, Text, UpstreamVersion
from wheelmill.config.model.images import CudaImages, ImageReference, Images
from wheelmill.names import CudaVersion


class _Pinned(Entry):
    checked: dt.date
    source: Text


class ManylinuxImages(_Pinned):
    """What wheels are compiled in, with where and when the digests were looked up."""

    images: dict[KnownPlatform, ImageReference]


class PlainImage(_Pinned):
    """A Linux without CUDA for the second clean room, with where and when its digest was looked up."""

    image: ImageReference


class CudaImagesEntry(Entry):
    """The images of one CUDA release."""

    toolkit: UpstreamVersion
    """The toolkit release in them; it may be another patch release than compatibility.yml has."""
    devel: ImageReference
    """Has the compiler and the headers."""
    runtime: ImageReference
    """Has the libraries that a wheel may need at run time."""


class CudaImagesFacts(_Pinned):
    """The images of CUDA releases, with where and when their digests were looked up."""

    releases: Annotated[dict[CudaVersion, CudaImagesEntry], EachKeyOnce]


class ImagesFile(Form):
    """``images.yml``."""

    manylinux: ManylinuxImages
    plain: PlainImage
    cuda: CudaImagesFacts

    def contradictions(self) -> Iterator[tuple[KeyPath, str]]:
        """A toolkit of another CUDA release, or images of another toolkit."""
        for cuda, entry in self.cuda.releases.items():
            place = ("cuda", "releases", str(cuda))
            if not entry.toolkit.startswith(f"{cuda}."):
                yield (
                    (*place, "toolkit"),
                    f"expected a toolkit of CUDA {cuda} such as '{cuda}.1', not '{entry.toolkit}'",
                )
            for key, image in (("devel", entry.devel), ("runtime", entry.runtime)):
                if not image.tag.startswith(f"{entry.toolkit}-"):  # NVIDIA's tags are 13.2.1-devel-ubuntu24.04
                    yield (*place, key), f"expected a tag of toolkit {entry.toolkit}, not '{image.tag}'"


def images_of(file: ImagesFile) -> Images:
    """Make records of the file."""
    return Images(
        manylinux=dict(file.manylinux.images),
        plain=file.plain.image,
        cuda={
            cuda: CudaImages(toolkit=entry.toolkit, devel=entry.devel, runtime=entry.runtime)
            for cuda, entry in file.cuda.releases.items()
        },
    )
