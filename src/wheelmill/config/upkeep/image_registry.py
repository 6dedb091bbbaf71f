"""Asking the registry of an image which digest a tag has now. Nothing is downloaded and no credentials are sent.

https://github.com/opencontainers/distribution-spec/blob/main/spec.md
https://distribution.github.io/distribution/spec/auth/token/
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import Final, Self
from urllib.parse import parse_qsl, urlencode, urlsplit
from urllib.request import parse_http_list, parse_keqv_list

from wheelmill.config.model.images import ImageReference, is_digest
from wheelmill.errors import NetworkError
from wheelmill.system.files import sha256_of_bytes
from wheelmill.web.client import Answer, Web
from wheelmill.web.credentials import Origin, no_credentials
from wheelmill.web.transport import Retries, Sleep

_API_HOSTS: Final[Mapping[str, str]] = {"docker.io": "registry-1.docker.io"}
"""Where the API of a registry is, if not under the host in the names of its images. There is one such registry:
https://github.com/moby/moby/blob/v28.0.0/registry/config.go (DefaultRegistryHost)
"""

_MANIFESTS: Final = (
    "application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.list.v2+json, "
    "application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json"
)
"""What a tag may point to. Without the first two a registry would give the digest for one platform."""

_MAX_ANSWER: Final = 16 << 20
"""Bytes. A manifest has 4 MB at most by the specification."""
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1"})


class ImageRegistry:
    """The registries of images, asked over https; a context manager that keeps connections open.

    Args:
        plain_http_on_loopback: whether registries on this machine are asked over http.
        sleep: waits for so many seconds between tries.
    """

    def __init__(self, *, plain_http_on_loopback: bool = False, sleep: Sleep) -> None:
        self._plain_http_on_loopback = plain_http_on_loopback
        self._web = Web(credentials=no_credentials, before=self._refuse_plain_http, retries=Retries(sleep))
        self._tokens: dict[str, str] = {}

    def __enter__(self) -> Self:
        """Keep connections open until the context is left."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close them."""
        self._web.close()

    def current(self, image: ImageReference) -> ImageReference | None:
        """Look up an image by its tag.

        Returns:
            The image with the digest that its tag has now; None when there is no such tag.

        Raises:
            NetworkError: the registry does not answer, does not let everybody read it, or answers in a way that means
                nothing.
        """
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
        """Ask for what a tag points to, with a token where one is wanted; 200 or 404."""
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
        """Get the token that everybody may have, from where the registry says.

        ``Bearer realm="https://auth.example.org/token",service="registry.example.org",scope="repository:a/b:pull"``
        """
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
        """Refuse to ask over a way on which anybody could answer, also after a redirect."""
        address = urlsplit(url)
        if address.scheme != "https" and not self._is_plain(address.hostname or ""):
            raise NetworkError(
                "registry-not-https",
                f"{address.hostname} would be asked over {address.scheme or 'no scheme'}, not https",
            )
