"""``images.yml``: the base images of Docker builds, each pinned by its digest."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Final

from wheelmill.config.annotations import ByVersion, ConfigFile, EachKeyOnce, Entry, KeyPath
from wheelmill.config.fields import KnownPlatform, Text, VersionText
from wheelmill.errors import UsageError
from wheelmill.names import CudaVersion, Word

# The grammar of references, without its short forms: a registry, a tag and a digest must be there.
# https://github.com/distribution/reference/blob/main/reference.go
_LABEL: Final = r"[a-z0-9]+(-+[a-z0-9]+)*"
_REGISTRY: Final = rf"(localhost|{_LABEL}(\.{_LABEL})+|{_LABEL}(\.{_LABEL})*:[0-9]+)"
_COMPONENT: Final = r"[a-z0-9]+((\.|__?|-+)[a-z0-9]+)*"
_NAME: Final = re.compile(rf"{_REGISTRY}(/{_COMPONENT})+")
_TAG: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True, order=True, slots=True)
class ImageReference(Word):
    """One image of a registry. The digest decides its bytes; the tag is for people, and for finding a newer digest."""

    name: str
    """Fully qualified: ``docker.io/nvidia/cuda``."""
    tag: str
    """``13.0.2-devel-ubuntu24.04``."""
    digest: str
    """``sha256:`` and 64 lower-case hexadecimal digits: of an index, or of the manifest for one platform."""

    @classmethod
    def parse(cls, text: str) -> ImageReference:
        """Read ``docker.io/library/almalinux:8@sha256:...``."""
        tagged, _, digest = text.partition("@")
        name, _, tag = tagged.rpartition(":")
        if not (_NAME.fullmatch(name) and _TAG.fullmatch(tag)):
            example = "an image with its registry and tag such as 'docker.io/library/almalinux:8'"
            raise ValueError(f"expected {example}, not {tagged!r}")
        if not digest:
            raise ValueError(f"'{tagged}' is not pinned: expected '@sha256:' and 64 hexadecimal digits behind it")
        if not is_digest(digest):
            raise ValueError(f"expected 'sha256:' and 64 lower-case hexadecimal digits behind the '@', not {digest!r}")
        return cls(name, tag, digest)

    @property
    def registry(self) -> str:
        """The host that images of this name come from: ``docker.io``, ``localhost:5000``."""
        return self.name.partition("/")[0]

    @property
    def repository(self) -> str:
        """The name within the registry: ``nvidia/cuda``."""
        return self.name.partition("/")[2]

    @property
    def tagged(self) -> str:
        """``docker.io/library/almalinux:8``: the name and what it points to today."""
        return f"{self.name}:{self.tag}"

    def __str__(self) -> str:
        """``docker.io/library/almalinux:8@sha256:...``."""
        return f"{self.tagged}@{self.digest}"


def is_digest(text: str) -> bool:
    """Whether this is ``sha256:`` and 64 lower-case hexadecimal digits."""
    return _DIGEST.fullmatch(text) is not None


@dataclass(frozen=True, kw_only=True)
class _Pinned(Entry):
    checked: dt.date
    source: Text


@dataclass(frozen=True, kw_only=True)
class ManylinuxImages(_Pinned):
    """What wheels are compiled in, with where and when the digests were looked up."""

    images: Mapping[KnownPlatform, ImageReference]


@dataclass(frozen=True, kw_only=True)
class PlainImage(_Pinned):
    """A Linux without CUDA for the second clean environment, with where and when its digest was looked up."""

    image: ImageReference


@dataclass(frozen=True, kw_only=True)
class CudaImages(Entry):
    """The images of one CUDA release."""

    toolkit: VersionText
    """The toolkit release in them: 13.2.1. It may be another patch release than compatibility.yml has."""
    devel: ImageReference
    """Has the compiler and the headers; may stand for all platforms (an index) or for linux_x86_64 alone."""
    runtime: ImageReference
    """Has the libraries that a wheel may need at run time."""


@dataclass(frozen=True, kw_only=True)
class CudaImagesFacts(_Pinned, ByVersion[CudaVersion, CudaImages]):
    """The images of CUDA releases, with where and when their digests were looked up."""

    releases: Annotated[Mapping[CudaVersion, CudaImages], EachKeyOnce()]


@dataclass(frozen=True, kw_only=True)
class Images(ConfigFile):
    """``images.yml``."""

    manylinux: ManylinuxImages
    plain: PlainImage
    cuda: CudaImagesFacts

    def contradictions(self) -> Iterator[tuple[KeyPath, str]]:
        """A toolkit of another CUDA release, or images of another toolkit."""
        for cuda, entry in self.cuda.items():
            place = ("cuda", "releases", str(cuda))
            if not entry.toolkit.startswith(f"{cuda}."):
                message = f"expected a toolkit of CUDA {cuda} such as '{cuda}.1', not '{entry.toolkit}'"
                yield (*place, "toolkit"), message
            for key, image in (("devel", entry.devel), ("runtime", entry.runtime)):
                if not image.tag.startswith(f"{entry.toolkit}-"):  # NVIDIA's tags are 13.2.1-devel-ubuntu24.04
                    yield (*place, key), f"expected a tag of toolkit {entry.toolkit}, not '{image.tag}'"

    def of_cuda(self, cuda: CudaVersion) -> CudaImages:
        """Look up the images of a CUDA release.

        Raises:
            UsageError: none are pinned for it.
        """
        if images := self.cuda.get(cuda):
            return images
        raise UsageError(
            "image-not-pinned", f"no image is pinned for CUDA {cuda}", hint="wheelmill config images --refresh --write"
        )
