"""Digests of ``images.yml`` compared with those of registries and of cibuildwheel, and updates of the file.

The registry returns the digest of a tag. Nothing is downloaded and no credentials are sent.
https://github.com/opencontainers/distribution-spec/blob/main/spec.md
https://distribution.github.io/distribution/spec/auth/token/
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Collection, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import ExitStack
from dataclasses import dataclass, replace
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit
from urllib.request import parse_http_list, parse_keqv_list

from wheelmill.config.fields import KeyPath
from wheelmill.config.maintenance.amend import Difference, Drift, amend
from wheelmill.config.model.container_builder import ContainerBuilder
from wheelmill.config.model.files import CudaImages, ImageReference, Images, is_digest
from wheelmill.config.yaml import read_document
from wheelmill.errors import NetworkError
from wheelmill.names import CudaVersion
from wheelmill.system.files import sha256_of_bytes
from wheelmill.web.client import Answer, Web
from wheelmill.web.credentials import Origin, no_credentials
from wheelmill.web.transport import Retries, Sleep

Current = Callable[[ImageReference], ImageReference | None]
"""Look-up of an image with the current digest of its tag; None if there is no such tag."""

_SOURCE: Final = "the registries, asked by 'wheelmill config images --refresh'"


@dataclass(frozen=True, kw_only=True)
class ImageDifference(Difference):
    """One value of ``images.yml``, as the file writes it."""

    key_path: KeyPath
    file: str | None
    """None for a CUDA release that is missing."""
    registry: str | Mapping[str, str] | None
    """All values of a CUDA release that is missing; None if the registry no longer has the tag."""
    origin: str = "the registry"
    """Holder of `registry`: the builder for what it pins."""

    @property
    def writable(self) -> bool:
        """True if the registry gives the value that the file needs."""
        return self.registry is not None

    @property
    def key(self) -> str:
        """Dotted key, such as ``cuda.releases.12.8.devel``."""
        return ".".join(map(str, self.key_path))

    def __str__(self) -> str:
        """Format as ``cuda.releases.12.8.devel: docker.io/nvidia/cuda:...@sha256:..., the registry has sha256:...``."""
        match self.registry:
            case None:
                return f"{self.key}: {self.file}, the registry no longer has this tag"
            case str(new):
                tagged, _, digest = new.rpartition("@")
                same_tag = bool(tagged) and str(self.file).startswith(f"{tagged}@")
                return f"{self.key}: {self.file}, {self.origin} has {digest if same_tag else new}"
            case values:
                return f"{self.key}: missing ({', '.join(f'{name} {value}' for name, value in values.items())})"


def find_image_drift(images: Images, toolkits: Mapping[CudaVersion, str], current: Current) -> Drift[ImageDifference]:
    """Look up every tag of the file, and those of toolkits without images there, unknown if there are none."""
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


def find_builder_images(images: Images, builder: ContainerBuilder) -> Iterator[ImageDifference]:
    """Compare the manylinux images with those of the builder; it pins none under other names."""
    for platform, image in sorted(images.manylinux.images.items()):
        pinned = next((each for each in builder.images if each.startswith(f"{image.name}:")), str(image))
        if pinned != str(image):
            place = ("manylinux", "images", str(platform))
            yield ImageDifference(key_path=place, file=str(image), registry=pinned, origin=builder.name)


def write_image_differences(
    path: Path,
    differences: Collection[ImageDifference],
    *,
    checked: dt.date,
    parts: AbstractSet[str] = frozenset({"manylinux", "plain", "cuda"}),
    source: str = _SOURCE,
) -> None:
    """Update ``images.yml`` with writable differences, and date those of its parts that the source confirms."""
    keys = {str(CudaVersion.parse(key)): key for key in read_document(path).content["cuda"]["releases"]}
    values: dict[KeyPath, Any] = {}
    for part in parts - {each.key_path[0] for each in differences if not each.writable}:
        values |= {(part, "checked"): checked.isoformat(), (part, "source"): source}
    for difference in differences:
        if difference.writable:
            values[tuple(keys.get(str(key), key) for key in difference.key_path)] = difference.registry
    amend(path, values)


def _difference(key_path: KeyPath, pinned: ImageReference, current: Current) -> Iterator[ImageDifference]:
    now = current(pinned)
    if now != pinned:
        yield ImageDifference(key_path=key_path, file=str(pinned), registry=str(now) if now else None)


def _missing_images(images: Images, cuda: CudaVersion, toolkit: str | None) -> CudaImages | None:
    """Return the missing images of a toolkit, named like the nearest pinned ones and still with their digests."""
    older = [known for known in images.cuda if known <= cuda]
    nearest = images.cuda.get(max(older, default=min(images.cuda, default=cuda)))
    if toolkit is None or nearest is None or nearest.toolkit == toolkit:
        return None
    devel, runtime = (
        replace(image, tag=image.tag.replace(nearest.toolkit, toolkit, 1)) for image in (nearest.devel, nearest.runtime)
    )
    return CudaImages(toolkit=toolkit, devel=devel, runtime=runtime)


def _other_toolkit(cuda: CudaVersion, pinned: CudaImages | None, registry: CudaImages) -> Iterator[ImageDifference]:
    place = ("cuda", "releases", str(cuda))
    new = values_of(registry)
    if pinned is None:
        yield ImageDifference(key_path=place, file=None, registry=new)
        return
    for key, old in values_of(pinned).items():
        yield ImageDifference(key_path=(*place, key), file=old, registry=new[key])


def values_of(images: CudaImages) -> dict[str, str]:
    """Return the images of a CUDA release as the file writes them: ``{toolkit: ..., devel: ..., runtime: ...}``."""
    return {"toolkit": images.toolkit, "devel": str(images.devel), "runtime": str(images.runtime)}


_API_HOSTS: Final[Mapping[str, str]] = {"docker.io": "registry-1.docker.io"}
"""Where the API of a registry is, if not under the host in the names of its images. There is one such registry:
https://github.com/moby/moby/blob/v28.0.0/registry/config.go (DefaultRegistryHost)
"""

_MANIFESTS: Final = (
    "application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.list.v2+json, "
    "application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json"
)
"""Media types that a tag may point to. Without the first two a registry would give the digest for one platform."""

_MAX_ANSWER: Final = 16 << 20
"""Bytes. A manifest has 4 MB at most by the specification."""
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1"})


class ImageRegistry(ExitStack[None]):
    """Client of image registries over https; `plain_http_on_loopback` permits http on this machine."""

    def __init__(self, *, plain_http_on_loopback: bool = False, sleep: Sleep) -> None:
        super().__init__()
        self._plain_http_on_loopback = plain_http_on_loopback
        web = Web(credentials=no_credentials, before=self._refuse_plain_http, retries=Retries(sleep))
        self._web = self.enter_context(web)
        self._tokens: dict[str, str] = {}

    def current(self, image: ImageReference) -> ImageReference | None:
        """Return an image with the current digest of its tag; None if there is no such tag."""
        answer = self._manifest("HEAD", image)
        if answer.status == HTTPStatus.OK and "Docker-Content-Digest" not in answer.headers:
            answer = self._manifest("GET", image)  # the header is optional
        if answer.status == HTTPStatus.NOT_FOUND:
            return None
        digest = answer.headers.get("Docker-Content-Digest") or f"sha256:{sha256_of_bytes(answer.content)}"
        if not is_digest(digest):
            raise NetworkError(
                "digest-invalid", f"{image.registry} gives {image.tagged} the digest {digest!r}, which is not a sha256"
            )
        return replace(image, digest=digest)

    def _manifest(self, method: str, image: ImageReference) -> Answer:
        """Request the manifest of a tag, with a token if one is required; the status is 200 or 404."""
        scheme = "http" if self._is_plain(image.registry.partition(":")[0]) else "https"
        host = _API_HOSTS.get(image.registry, image.registry)
        url = f"{scheme}://{host}/v2/{image.repository}/manifests/{image.tag}"
        answer = self._ask(method, url, image)
        own = Origin.of(answer.url) == Origin.of(url)
        if answer.status == HTTPStatus.UNAUTHORIZED and own:
            self._tokens[image.name] = self._token(answer.headers.get("WWW-Authenticate", ""), image)
            answer = self._ask(method, url, image)
        match answer.status:
            case HTTPStatus.OK | HTTPStatus.NOT_FOUND:
                return answer
            case HTTPStatus.UNAUTHORIZED | HTTPStatus.FORBIDDEN:
                raise NetworkError(
                    "image-private",
                    f"{image.registry} does not show {image.name} without a login: it is private or not there",
                )
            case status:
                raise NetworkError(
                    "registry-refused", f"{image.registry} answers {status} to the question for {image.tagged}"
                )

    def _ask(self, method: str, url: str, image: ImageReference) -> Answer:
        token = self._tokens.get(image.name)
        return self._web.get(
            url, method=method, accept=_MANIFESTS, authorization=f"Bearer {token}" if token else None, limit=_MAX_ANSWER
        )

    def _token(self, challenge: str, image: ImageReference) -> str:
        """Get the public token that a challenge offers: ``Bearer realm="https://...",service="...",scope="..."``."""
        scheme, _, parameters = challenge.partition(" ")
        try:
            fields = parse_keqv_list(parse_http_list(parameters)) if scheme.lower() == "bearer" else {}
            realm = urlsplit(fields["realm"])
        except (ValueError, LookupError):
            raise NetworkError(
                "registry-login", f"{image.registry} asks for more than a token: {challenge!r}"
            ) from None
        asked = dict(parse_qsl(realm.query)) | {name: fields[name] for name in ("service", "scope") if name in fields}
        answer = self._web.get(realm._replace(query=urlencode(asked)).geturl(), limit=_MAX_ANSWER)
        try:
            content = json.loads(answer.content)
            return str(content.get("token") or content["access_token"])
        except (ValueError, AttributeError, KeyError):
            raise NetworkError(
                "registry-no-token", f"{realm.hostname} gives no token for {image.name}: {answer.status}"
            ) from None

    def _is_plain(self, host: str) -> bool:
        return self._plain_http_on_loopback and host in _LOOPBACK

    def _refuse_plain_http(self, url: str) -> None:
        """Refuse addresses without https, also after a redirect, because an attacker could answer there."""
        address = urlsplit(url)
        if address.scheme != "https" and not self._is_plain(address.hostname or ""):
            raise NetworkError(
                "registry-not-https",
                f"{address.hostname} would be asked over {address.scheme or 'no scheme'}, not https",
            )
