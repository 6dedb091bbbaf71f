"""Containers and their images: base images by digest, and wheelmill's own built on them.

Each container carries a label with the run that started it. A run holds a file lock while its process lives; the
kernel releases it even after ``kill -9``. The next run of the same user on the same machine removes the containers
whose lock is free.
"""

from __future__ import annotations

import json
import platform
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from platformdirs import user_cache_path

from wheelmill.errors import BuildError, ProcessError, UsageError
from wheelmill.system import process
from wheelmill.system.files import sha256_of, sha256_of_bytes
from wheelmill.system.locks import hold, wait_silently
from wheelmill.system.progress import Progress

LABEL: Final = "wheelmill"
"""The label of our containers; its value names the run. ``docker ps -a --filter label=wheelmill`` lists them."""

answered: Final = threading.Event()
"""Set once the daemon has answered: from then on, silence means that it was lost."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """Run whose containers end with it."""

    id: str

    @property
    def label(self) -> str:
        """Label on each of its containers."""
        return f"{LABEL}={self.id}"


@dataclass(frozen=True, kw_only=True)
class Container:
    """Container that idles until it has a program to run."""

    id: str

    def run(self, argv: Sequence[str], *, env: Mapping[str, str] | None = None, timeout: float | None = None) -> str:
        """Run a program in the container and return its output; raises as `docker` does."""
        variables = [word for name, value in (env or {}).items() for word in ("--env", f"{name}={value}")]
        return docker("exec", *variables, self.id, *argv, timeout=timeout)

    def start(self, argv: Sequence[str]) -> None:
        """Start a program in the container that runs beside others."""
        docker("exec", "--detach", self.id, *argv)


@contextmanager
def claim_run() -> Iterator[Run]:
    """Begin a run, and remove leftover containers: those of earlier runs now, its own at the end."""
    check_daemon()
    locks = user_cache_path("wheelmill") / "runs"
    locks.mkdir(parents=True, exist_ok=True)
    # Other users may share the daemon: a container without a lock in this folder may have one in theirs.
    place = sha256_of_bytes(f"{platform.node()} {locks.resolve()}".encode())[:12]
    _remove_abandoned(locks, place)
    run = Run(id=f"{place}-{uuid.uuid4().hex}")
    with hold(locks / run.id, wait=wait_silently):
        try:
            yield run
        finally:
            with suppress(ProcessError, BuildError):
                _remove(run.label)


@contextmanager
def start_container(image: str, run: Run, options: Sequence[str]) -> Iterator[Container]:
    """Start a container of a local image; at the end, remove it and the volumes that only it has.

    `options` are further options of ``docker create``. Raises as `docker` does.
    """
    words = ["create", "--init", "--label", run.label, "--pull", "never", *options]
    container = Container(id=docker(*words, image, "sleep", "infinity").split()[-1])
    try:
        docker("start", container.id)
        yield container
    finally:
        with suppress(ProcessError, BuildError):  # the next run removes it
            docker("rm", "--force", "--volumes", container.id)


def ran_out_of_memory(run: Run, *, since: int) -> bool:
    """True if since a Unix time the kernel ended a process in one of a run's containers for lack of memory."""
    period = ("--since", str(since), "--until", str(int(time.time()) + 1))
    return bool(docker("events", *period, "--filter", f"label={run.label}", "--filter", "event=oom"))


def docker(*words: str | Path, timeout: float | None = None, on_line: Callable[[str], None] | None = None) -> str:
    """Run Docker's client and return its output; `on_line` is called with every line as it arrives.

    Raises:
        BuildError: the daemon answered before, and no longer does.
        ProcessError: the client failed, or a program that it runs in a container, or its `timeout` in seconds was over.
    """
    try:
        return process.run(["docker", *words], timeout=timeout, on_line=on_line, guard=True)
    except ProcessError:
        check_daemon()
        raise


def check_daemon() -> None:
    """Check that Docker answers; raises UsageError if it is missing or silent, BuildError if it answered before."""
    try:
        process.run(["docker", "version", "--format", "{{.Server.Version}}"])
    except UsageError:
        raise UsageError(
            "docker-absent", "there is no docker on this machine", hint="install Docker, or use --sandbox local"
        ) from None
    except ProcessError as error:
        if answered.is_set():
            raise BuildError("docker-silent", f"Docker no longer answers: {error.tail}") from None
        hint = "start its daemon: systemctl start docker"
        raise UsageError("docker-silent", f"Docker does not answer: {error.tail}", hint=hint) from None
    answered.set()


def _remove_abandoned(locks: Path, place: str) -> None:
    listed = process.run(
        ["docker", "ps", "--all", "--filter", f"label={LABEL}", "--format", f'{{{{.Label "{LABEL}"}}}}']
    )
    ours = (run_id for run_id in listed.split() if run_id.startswith(f"{place}-"))
    for run_id in {*ours, *(path.name for path in locks.glob("[!.]*"))}:
        # Locked meanwhile: of two removals of one container, Docker fails the second.
        with suppress(BlockingIOError), hold(locks / run_id, wait=None):
            _remove(f"{LABEL}={run_id}")


def _remove(label: str) -> None:
    if found := docker("ps", "--all", "--quiet", "--filter", f"label={label}").split():
        docker("rm", "--force", "--volumes", *found)


_PULLS: Final = 3
_PAUSE_S: Final = 10.0
"""Seconds before the second pull; twice as many before the third."""


def base_image(reference: str, *, progress: Progress) -> str:
    """Pull a base image unless it is local, and return a name for it that no pull can change.

    `reference` has tag and digest: ``docker.io/nvidia/cuda:13.0.2-devel-ubuntu24.04@sha256:...``. A local image counts
    if its digest or its ID, which is a hash as well, is that one. Raises UsageError if the registry does not provide
    it.
    """
    tagged, _, digest = reference.partition("@")
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
    """Build an image from wheelmill's Dockerfile, or reuse one made of the same files and arguments.

    `name` is ``build`` or ``runtime``; `context` is a folder with the Dockerfile and all that it copies. Raises
    UsageError, with the last lines of Docker's output, if the build fails.
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
    """True if the local image with a tag has this digest."""
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
            time.sleep(_PAUSE_S * attempt)
        else:
            return
