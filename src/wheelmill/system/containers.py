"""Containers and their images: base images by digest, and wheelmill's own built on them.

Each container carries a label with the run that started it. A run holds a file lock while its process lives; the
kernel releases it even after ``kill -9``. The next run of the same user on the same machine removes the containers
whose lock is free.
"""

from __future__ import annotations

import json
import platform
import re
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from platformdirs import user_cache_path

from wheelmill.errors import BuildError, ProcessError, UsageError
from wheelmill.system import own_installation, process
from wheelmill.system.files import sha256_of, sha256_of_bytes
from wheelmill.system.locks import hold, wait_silently
from wheelmill.system.progress import Progress

LABEL: Final = "wheelmill"
"""The label of our containers; its value names the run. ``docker ps -a --filter label=wheelmill`` lists them."""

answered: Final = threading.Event()
"""Set once the daemon has answered: from then on, silence means that it was lost."""


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
def claim_run() -> Iterator[str]:
    """Begin a run, yield its name, and remove leftover containers: of earlier runs now, its own at the end."""
    check_daemon()
    locks = user_cache_path("wheelmill") / "runs"
    locks.mkdir(parents=True, exist_ok=True)
    # Other users may share the daemon: a container without a lock in this folder may have one in theirs.
    place = sha256_of_bytes(f"{platform.node()} {locks.resolve()}".encode())[:12]
    _remove_abandoned(locks, place)
    run = f"{place}-{uuid.uuid4().hex}"
    with hold(locks / run, wait=wait_silently):
        try:
            yield run
        finally:
            with suppress(ProcessError, BuildError):
                _remove(run)


@contextmanager
def start_container(image: str, run: str, options: Sequence[str]) -> Iterator[Container]:
    """Start a container of a local image with options of ``docker create``; remove it and its volumes at the end."""
    words = ["create", "--init", "--label", f"{LABEL}={run}", "--pull", "never", *options]
    container = Container(id=docker(*words, image, "sleep", "infinity").split()[-1])
    try:
        docker("start", container.id)
        yield container
    finally:
        with suppress(ProcessError, BuildError):  # the next run removes it
            docker("rm", "--force", "--volumes", container.id)


def ran_out_of_memory(run: str, *, since: int) -> bool:
    """True if since a Unix time the kernel ended a process in one of a run's containers for lack of memory."""
    period = ("--since", str(since), "--until", str(int(time.time()) + 1))
    return bool(docker("events", *period, "--filter", f"label={LABEL}={run}", "--filter", "event=oom"))


def docker(*words: str | Path, timeout: float | None = None, on_line: Callable[[str], None] | None = None) -> str:
    """Run Docker's client and return its output; raises BuildError for a lost daemon or full disk, or ProcessError."""
    try:
        return process.run(["docker", *words], timeout=timeout, on_line=on_line, guard=True)
    except ProcessError as error:
        check_daemon()
        if words[0] != "exec":  # the program in the container may print anything
            check_disk_full(error.tail)
        raise


DISK_HINT: Final = (
    "docker system df --verbose and du -sh ~/.cache/* show what takes the space; XDG_CACHE_HOME names another disk"
)
"""Advice on a full disk; nothing with ``prune``, which removes the user's other images."""


def check_disk_full(printed: str) -> None:
    """Raise BuildError if Docker or a program printed that a disk is full; Docker itself writes it in lower case."""
    if re.search("no space left on device|disk quota exceeded", printed, re.IGNORECASE):
        raise BuildError("disk-full", f"the disk is full:\n{printed}", hint=DISK_HINT)


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
        if "permission denied while trying to connect" in error.tail.lower():
            raise UsageError(
                "docker-denied",
                f"this user may not use Docker's socket: {error.tail}",
                hint="sudo usermod --append --groups docker $USER, and log in again: that group has the rights of root",
            ) from None
        hint = "start its daemon: systemctl start docker"
        raise UsageError("docker-silent", f"Docker does not answer: {error.tail}", hint=hint) from None
    answered.set()


def _remove_abandoned(locks: Path, place: str) -> None:
    listed = process.run(
        ["docker", "ps", "--all", "--filter", f"label={LABEL}", "--format", f'{{{{.Label "{LABEL}"}}}}']
    )
    ours = (run for run in listed.split() if run.startswith(f"{place}-"))
    for run in {*ours, *(path.name for path in locks.glob("[!.]*"))}:
        # Locked meanwhile: of two removals of one container, Docker fails the second.
        with suppress(BlockingIOError), hold(locks / run, wait=None):
            _remove(run)


def _remove(run: str) -> None:
    if containers := docker("ps", "--all", "--quiet", "--filter", f"label={LABEL}={run}").split():
        docker("rm", "--force", "--volumes", *containers)


_PULLS: Final = 3
_PAUSE_S: Final = 10.0
"""Seconds before the second pull; twice as many before the third."""


def _local_name(reference: str) -> str:
    return f"wheelmill/base:{reference.partition('@sha256:')[2][:24]}"


def base_image(reference: str, *, progress: Progress) -> str:
    """Pull a base image, ``NAME:TAG@sha256:...``, unless it is local, and return a name that no pull can change.

    Raises UsageError if the registry does not provide it.
    """
    tagged = reference.partition("@")[0]
    image = _local_image(reference)
    if image is None:
        image = _pinned(reference)
        progress.step(f"pulling {tagged}")
        _pull(image, tagged)
    docker("tag", image, _local_name(reference))
    return _local_name(reference)


def _pinned(reference: str) -> str:
    """Name of a base image without its tag, as a pull takes it."""
    tagged, _, digest = reference.partition("@")
    return f"{tagged.rpartition(':')[0]}@{digest}"


def _local_image(reference: str) -> str | None:
    """Name of the local image of a reference: its digest or its ID, which is a hash as well, is that one."""
    tagged, _, digest = reference.partition("@")
    if _is(tagged, digest):
        return tagged
    return _pinned(reference) if _exists(_pinned(reference)) else None


@dataclass(frozen=True, kw_only=True)
class OwnImage:
    """Image of one of wheelmill's Dockerfiles, reused if one was made of the same files and arguments."""

    name: str
    """``build``, ``system-packages`` or ``runtime``."""
    bases: Mapping[str, str] = field(default_factory=dict)
    """References of base images by the argument that takes their names. They are pulled only to make the image."""
    arguments: Mapping[str, str] = field(default_factory=dict)
    context: Path = own_installation.DOCKER
    """Folder with the Dockerfile and all that it copies."""

    def tag(self) -> str:
        """Name of the image, a hash of all that it is made of."""
        files = {path.name: sha256_of(path) for path in sorted(self.context.iterdir())}
        key = sha256_of_bytes(json.dumps([files, sorted(self._arguments().items())]).encode())
        return f"wheelmill/{self.name}:{key[:24]}"

    def missing(self) -> list[str]:
        """Its name, and the references of its bases that are not local; nothing if the image is made."""
        if _exists(self.tag()):
            return []
        return [self.name, *(base for base in self.bases.values() if _local_image(base) is None)]

    def make(self, progress: Progress) -> str:
        """Make the image if it is missing, and return its tag; raises UsageError with the end of the output."""
        tag = self.tag()
        if _exists(tag):
            return tag
        for base in self.bases.values():
            base_image(base, progress=progress)
        progress.step(f"making the {self.name} image")
        words = ["--force-rm", "--tag", tag, "--file", str(self.context / f"{self.name}.Dockerfile")]
        for name, value in self._arguments().items():
            words += ["--build-arg", f"{name}={value}"]
        with process.raise_on_failure(UsageError("image-not-built", f"the {self.name} image cannot be built")):
            docker("build", *words, self.context, on_line=progress.line)
        return tag

    def _arguments(self) -> Mapping[str, str]:
        return {name: _local_name(base) for name, base in self.bases.items()} | dict(self.arguments)


def build_image(manylinux: str, cuda: str, host_gcc: str) -> OwnImage:
    """Image in which wheels are compiled: a manylinux image with the toolkit of one of NVIDIA's."""
    bases = {"MANYLINUX_IMAGE": manylinux, "CUDA_IMAGE": cuda}
    return OwnImage(name="build", bases=bases, arguments={"HOST_GCC": host_gcc})


def _exists(image: str) -> bool:
    try:
        docker("image", "inspect", "--format", "{{.Id}}", image)
    except ProcessError:
        return False
    return True


def _is(tagged: str, digest: str) -> bool:
    """True if the local image with a tag has this digest."""
    try:
        inspected = json.loads(docker("image", "inspect", tagged))[0]
    except ProcessError:
        return False
    digests = {reference.partition("@")[2] for reference in inspected["RepoDigests"] or ()}
    return digest in digests | {inspected["Id"]}


def _pull(pinned: str, tagged: str) -> None:
    for attempt in range(1, _PULLS + 1):
        try:
            docker("pull", "--quiet", pinned)
        except ProcessError as error:
            failure = _not_pulled(tagged, error.tail)
            if attempt == _PULLS or failure.hint:
                raise failure from None
            time.sleep(_PAUSE_S * attempt)
        else:
            return


def _not_pulled(tagged: str, printed: str) -> UsageError:
    """Error for a pull that failed; answers of the registry that the next pull would get, too, have their own codes."""
    text = f"{tagged} cannot be pulled:\n{printed}"
    if re.search("toomanyrequests|429 too many requests", printed, re.IGNORECASE):
        return UsageError(
            "pulls-limited",
            text,
            hint="docker login raises the limit, which all users of an address share without an account",
        )
    if re.search("manifest unknown|pull access denied|repository does not exist|unauthorized: access to", printed):
        return UsageError(
            "image-absent", text, hint="wheelmill config images --refresh --write takes the digest that the tag has now"
        )
    return UsageError("image-not-pulled", text)
