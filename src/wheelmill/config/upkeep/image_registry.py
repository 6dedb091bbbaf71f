"""Asking the registry of an image which digest a tag has now. Nothing is downloaded and no credentials are sent.

https://github.com/opencontainers/distribution-spec/blob/main/spec.md
https://distribution.github.io/distribution/spec/auth/token/
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import Final, Self
from urllib.request import parse_http_list, parse_keqv_list

import httpx

from wheelmill.config.model.images import ImageReference, is_digest
from wheelmill.errors import WheelmillError
from wheelmill.web.tries import Sleep, answer_to

_API_HOSTS: Final[Mapping[str, str]] = {"docker.io": "registry-1.docker.io"}
"""Where the API of a registry is, if not under the host in the names of its images. There is one such registry:
https://github.com/moby/moby/blob/v28.0.0/registry/config.go (DefaultRegistryHost)
"""

_MANIFESTS: Final = (
    "application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.list.v2+json, "
    "application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json"
)
"""What a tag may point to. Without the first two a registry would give the digest for one platform."""

_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1"})
_TIMEOUT: Final = 30.0
"""Seconds without a byte."""


class ImageRegistryError(WheelmillError):
    """A registry did not give what was asked for."""

    exit_code = 2


class ImageRegistry:
    """The registries of images, asked over https; a context manager that keeps connections open.

    Args:
        plain_http_on_loopback: whether registries on this machine are asked over http.
        sleep: waits for so many seconds between tries.
    """

    def __init__(self, *, plain_http_on_loopback: bool = False, sleep: Sleep = time.sleep) -> None:
        self._plain_http_on_loopback = plain_http_on_loopback
        self._sleep = sleep
        # On the way to another host httpx drops the header with the token.
        self._client = httpx.Client(
            follow_redirects=True, timeout=_TIMEOUT, event_hooks={"request": [self._refuse_plain_http]}
        )
        self._tokens: dict[str, str] = {}

    def __enter__(self) -> Self:
        """Keep connections open until the context is left."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close them."""
        self._client.close()

    def current(self, image: ImageReference) -> ImageReference | None:
        """Look up an image by its tag.

        Returns:
            The image with the digest that its tag has now; None when there is no such tag.

        Raises:
            ImageRegistryError: the registry does not let everybody read it, or answers in a way that means nothing.
            NoAnswerError: the registry cannot be reached or stays busy.
        """
        answer = self._manifest("HEAD", image)
        if answer.status_code == HTTPStatus.OK and "Docker-Content-Digest" not in answer.headers:
            answer = self._manifest("GET", image)  # the header is optional
        if answer.status_code == HTTPStatus.NOT_FOUND:
            return None
        digest = answer.headers.get("Docker-Content-Digest") or f"sha256:{hashlib.sha256(answer.content).hexdigest()}"
        if not is_digest(digest):
            raise ImageRegistryError(f"{image.registry} gives {image.tagged} the digest {digest!r}, which is no sha256")
        return replace(image, digest=digest)

    def _manifest(self, method: str, image: ImageReference) -> httpx.Response:
        """Ask for what a tag points to, with a token where one is wanted; 200 or 404."""
        scheme = "http" if self._is_plain(image.registry.partition(":")[0]) else "https"
        host = _API_HOSTS.get(image.registry, image.registry)
        url = httpx.URL(f"{scheme}://{host}/v2/{image.repository}/manifests/{image.tag}")
        answer = self._ask(method, url, image)
        if answer.status_code == HTTPStatus.UNAUTHORIZED and not answer.history:  # its own answer, not another host's
            self._tokens[image.name] = self._token(answer.headers.get("WWW-Authenticate", ""), image)
            answer = self._ask(method, url, image)
        match answer.status_code:
            case HTTPStatus.OK | HTTPStatus.NOT_FOUND:
                return answer
            case HTTPStatus.UNAUTHORIZED | HTTPStatus.FORBIDDEN:
                raise ImageRegistryError(f"{image.registry} shows {image.name} to nobody: it is private or not there")
            case status:
                raise ImageRegistryError(f"{image.registry} answers {status} to the question for {image.tagged}")

    def _ask(self, method: str, url: httpx.URL, image: ImageReference) -> httpx.Response:
        token = self._tokens.get(image.name)
        headers = {"Accept": _MANIFESTS} | ({"Authorization": f"Bearer {token}"} if token else {})
        return answer_to(self._client, self._client.build_request(method, url, headers=headers), self._sleep)

    def _token(self, challenge: str, image: ImageReference) -> str:
        """Get the token that everybody may have, from where the registry says.

        ``Bearer realm="https://auth.example.org/token",service="registry.example.org",scope="repository:a/b:pull"``
        """
        scheme, _, parameters = challenge.partition(" ")
        try:
            fields = parse_keqv_list(parse_http_list(parameters)) if scheme.lower() == "bearer" else {}
            url = httpx.URL(fields["realm"])
        except (ValueError, LookupError, httpx.InvalidURL):
            raise ImageRegistryError(f"{image.registry} asks for more than a token: {challenge!r}") from None
        for name in {"service", "scope"} & fields.keys():
            url = url.copy_set_param(name, fields[name])
        request = self._client.build_request("GET", url)
        answer = answer_to(self._client, request, self._sleep)
        try:
            content = answer.raise_for_status().json()
            return str(content.get("token") or content["access_token"])
        except (httpx.HTTPStatusError, ValueError, AttributeError, KeyError):
            raise ImageRegistryError(f"{url.host} gives no token for {image.name}: {answer.status_code}") from None

    def _is_plain(self, host: str) -> bool:
        return self._plain_http_on_loopback and host in _LOOPBACK

    def _refuse_plain_http(self, request: httpx.Request) -> None:
        """Refuse to ask over a way on which anybody could answer, also after a redirect."""
        if request.url.scheme != "https" and not self._is_plain(request.url.host):
            raise ImageRegistryError(f"{request.url.host} is not asked over {request.url.scheme or 'no scheme'}")
