"""Faults of Docker itself have names of their own: a socket without the right to it, and a disk that is full."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.conftest import docker_on
from tests.refusals import coded
from wheelmill.errors import BuildError, ProcessError, UsageError
from wheelmill.system.containers import OwnImage, answered, check_daemon, docker, start_container
from wheelmill.system.progress import Progress

pytestmark = [
    pytest.mark.real,
    pytest.mark.usefixtures("stand_ins"),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk"),
]

IMAGE = "almalinux:8"
AS_NOBODY = '#!/bin/sh\nexec setpriv --reuid=65534 --regid=65534 --clear-groups {docker} "$@"\n'


def test_without_access_to_the_socket_it_names_the_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client = tmp_path / "docker"
    client.write_text(AS_NOBODY.format(docker=shutil.which("docker")))
    client.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    answered.clear()
    with pytest.raises(UsageError, check=coded("docker-denied", "docker.sock", "--groups docker")):
        check_daemon()


@pytest.fixture
def small_docker(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Another daemon, on a disk of 200 MB with an image of 75 MB."""
    folder = Path(tempfile.mkdtemp())  # short, as sockets must be
    disk = folder / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200m", "tmpfs", disk], check=True)
    try:
        with docker_on(disk, IMAGE) as address:
            monkeypatch.setenv("DOCKER_HOST", address)
            yield
    finally:
        subprocess.run(["umount", disk], check=True)
        shutil.rmtree(folder)


@pytest.mark.usefixtures("small_docker")
def test_a_full_disk_is_named_whatever_fills_it(tmp_path: Path) -> None:
    full = coded("disk-full", "docker system df")
    (tmp_path / "build.Dockerfile").write_text(f"FROM {IMAGE}\nRUN head --bytes=300M /dev/zero > /large\n")
    with pytest.raises(BuildError, check=full):
        OwnImage(name="build", context=tmp_path).make(Progress())
    large = tmp_path / "large"
    large.write_bytes(bytes(300 << 20))
    with start_container(IMAGE, "small", ["--network=none"]) as container:
        with pytest.raises(BuildError, check=full):
            docker("cp", large, f"{container.id}:/large")
        with pytest.raises(ProcessError, match="exec"):  # a program may print anything
            container.run(["sh", "-c", "head --bytes=300M /dev/zero > /large"])
        with pytest.raises(BuildError, check=full), start_container(IMAGE, "small", []):
            pytest.fail("there is no room for a container")
