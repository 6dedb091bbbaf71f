"""Container images: bases by digest, and our own that are made of them."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from wheelmill.errors import ProcessError, UsageError
from wheelmill.system.containers import docker
from wheelmill.system.files import sha256_of, sha256_of_bytes
from wheelmill.system.progress import Progress

_PULLS: Final = 3
_PAUSE: Final = 10.0
"""Seconds before the second pull; twice as many before the third."""


def base_image(tagged: str, digest: str, *, progress: Progress) -> str:
    """Have a base image on this machine, pulled if need be, and return a name for it that no pull can change.

    One that is here already is taken when its digest or its ID, which is a hash as well, is the one that is asked for.

    Args:
        tagged: the image with its tag: ``docker.io/nvidia/cuda:13.0.2-devel-ubuntu24.04``.
        digest: the digest that it is pinned to: ``sha256:...``.
        progress: shows the lines of a pull.

    Raises:
        UsageError: the registry does not give it.
    """
    repository = tagged.rpartition(":")[0]
    pinned = f"{repository}@{digest}"
    local = f"wheelmill/base:{digest.removeprefix('sha256:')[:24]}"
    here = _is(tagged, digest)
    if not here and not _exists(pinned):
        progress.step(f"pulling {tagged}")
        _pull(pinned, tagged)
    docker("tag", tagged if here else pinned, local)
    return local


def own_image(name: str, arguments: Mapping[str, str], context: Path, *, progress: Progress) -> str:
    """Have an image made of a Dockerfile of ours; one that was made of the same files and arguments is taken as it is.

    Args:
        name: the name of the Dockerfile: ``build`` or ``runtime``.
        arguments: the build arguments of the Dockerfile.
        context: a folder with the Dockerfile and all that it copies.
        progress: shows the step when the image has to be built.

    Raises:
        UsageError: it cannot be made; with the last lines of what Docker printed.
    """
    files = {path.name: sha256_of(path) for path in sorted(context.iterdir())}
    key = sha256_of_bytes(json.dumps([files, sorted(arguments.items())]).encode())
    image = f"wheelmill/{name}:{key[:24]}"
    if _exists(image):
        return image
    progress.step(f"making the {name} image")
    words = [word for argument, value in arguments.items() for word in ("--build-arg", f"{argument}={value}")]
    try:
        dockerfile = context / f"{name}.Dockerfile"
        docker("build", "--tag", image, "--file", dockerfile, *words, context, on_line=progress.line)
    except ProcessError as error:
        raise UsageError("image-not-built", f"the {name} image cannot be built:\n{error.tail}") from None
    return image


def _exists(image: str) -> bool:
    try:
        docker("image", "inspect", "--format", "{{.Id}}", image)
    except ProcessError:
        return False
    return True


def _is(tagged: str, digest: str) -> bool:
    """Whether the image that has a tag on this machine is the one that a digest names."""
    try:
        found = json.loads(docker("image", "inspect", tagged))[0]
    except ProcessError:
        return False
    digests = {reference.partition("@")[2] for reference in found["RepoDigests"] or ()}
    return digest in digests | {found["Id"]}


def _pull(pinned: str, tagged: str) -> None:
    for attempt in range(1, _PULLS + 1):
        try:
            docker("pull", "--quiet", pinned)
        except ProcessError as error:
            if attempt == _PULLS:
                raise UsageError("image-not-pulled", f"{tagged} cannot be pulled:\n{error.tail}") from None
            time.sleep(_PAUSE * attempt)
        else:
            return
