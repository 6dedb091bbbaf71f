"""Five Pythons of a package with real torch under act, on 42 GiB of disk with images as large as budgeted."""

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from tests.real.act import Host, folder_for_all, new_host, on_hosted_machine
from tests.real.conftest import DEMO, Command, docker_on
from tests.real.stand_in_images import references
from wheelmill.config.load import load_images

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
pytestmark = [pytest.mark.real, pytest.mark.nightly, as_root]

GB = 10**9
PYTHONS = ("cp39", "cp310", "cp311", "cp312", "cp313")
SIZES = {"-devel-": 8 * GB, "-runtime-": 4 * GB, "manylinux": 3 * GB, "wheelmill/build:": 5 * GB}
"""Bytes of images by a part of their names, those of our own on top of their bases; others have a gigabyte."""
POLICY = "--policy manylinux_2_34 --until smoke"
"""Debian's glibc, which the stand-ins have."""


@dataclass(kw_only=True)
class Disk:
    """A disk with a daemon of Docker."""

    folder: Path
    docker: str = ""
    """The address of the daemon."""
    least: int = sys.maxsize
    """Bytes that were free when it was fullest."""
    weighed: dict[str, int] = field(default_factory=dict)
    """The bytes that were added to each image."""

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Weigh images as they come, and see what is free."""
        ended = threading.Event()

        def watch() -> None:
            while not ended.wait(0.5):
                self.weigh()
                self.least = min(self.least, shutil.disk_usage(self.folder).free)

        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            yield
        finally:
            ended.set()
            watcher.join()

    def weigh(self) -> None:
        listed = self._asked("image", "ls", "--format", "{{.Repository}}:{{.Tag}}").split()
        names = [name for name in listed if "<none>" not in name]  # a step of an image that is being made
        new = [name for name in names if name not in self.weighed and not name.startswith("wheelmill/base:")]
        if not new:
            return
        images = {name: json.loads(self._asked("image", "inspect", name))[0] for name in names}
        for name in new:
            layers = images[name]["RootFS"]["Layers"]
            below = [each["Size"] for each in images.values() if _is_base(each["RootFS"]["Layers"], layers)]
            wanted = next((size for part, size in SIZES.items() if part in name), GB)
            self.weighed[name] = wanted - (images[name]["Size"] - max(below, default=0))
            top = images[name]["GraphDriver"]["Data"]["UpperDir"]
            subprocess.run(["fallocate", "--length", str(self.weighed[name]), f"{top}/weight"], check=True)

    def _asked(self, *words: str) -> str:
        argv = ["docker", "--host", self.docker, *words]
        return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


def _is_base(layers: list[str], above: list[str]) -> bool:
    return len(layers) < len(above) and above[: len(layers)] == layers


@contextmanager
def disk_of(size: str) -> Iterator[Path]:
    """Mount a file system, whose file on the real disk is as large as what was written there."""
    with folder_for_all() as folder:
        disk, file = folder / "disk", folder / "file"
        disk.mkdir()
        subprocess.run(["truncate", "--size", size, file], check=True)
        subprocess.run(["mkfs.ext4", "-q", "-m", "0", file], check=True)
        subprocess.run(["mount", "-o", "loop,discard", file, disk], check=True)
        try:
            yield disk
        finally:
            subprocess.run(["umount", disk], check=True)


@contextmanager
def torch_host(disk: Disk, config: Path) -> Iterator[Host]:
    """Have a repository of the torch demo on a disk, whose jobs run on a machine as GitHub's own."""
    with new_host(disk.folder / "host") as host:
        shutil.rmtree(host.repository / "config")
        shutil.copytree(config, host.repository / "config")
        group = host.repository / ".github" / "workflows" / "wheels-group.yml"
        text = group.read_text()
        assert "--until smoke" in text
        group.write_text(text.replace("--until smoke", POLICY))
        variables = {name: value for name, value in host.variables.items() if name != "WHEELMILL_SANDBOX"}
        with on_hosted_machine(replace(host, variables=variables), disk.folder, DOCKER_HOST=disk.docker) as hosted:
            yield hosted


@pytest.fixture
def config(docker_config: Callable[[Path], Path], wheelmill: Command) -> Path:
    folder = docker_config(DEMO.with_name("torch_demo"))
    pyproject = folder / "wheelmill-demo-torch" / "pyproject.toml"
    pyproject.write_text(pyproject.read_text().replace(">=3.10", ">=3.9"))
    wheelmill("config", "lock", "--config", folder)
    return folder


def test_five_pythons_fit_on_the_disk_of_a_hosted_machine(config: Path) -> None:
    pinned = [image.tagged for image in references(load_images(config))]
    wanted = [name for name in pinned if re.search("manylinux.*x86_64|almalinux|cuda:12.4", name)]
    with disk_of("42G") as folder:
        disk = Disk(folder=folder)
        (folder / "docker").mkdir()
        with docker_on(folder / "docker", *wanted) as disk.docker, torch_host(disk, config) as host:
            os.chown(disk.docker.removeprefix("unix://"), 1001, 1001)
            disk.weigh()
            before = shutil.disk_usage(folder).free
            with disk.watched():
                axes = {"cuda_versions": "12.4", "torch_versions": "2.6", "platforms": "linux_x86_64"}
                printed = host.dispatch({"package": "wheelmill-demo-torch", **axes})
            print(f"GB free: {before / GB:.1f} before, {disk.least / GB:.1f} when it was fullest; {disk.weighed}")  # noqa: T201 - pytest shows it
            _check(host, printed)
        assert {name.partition(":")[0] for name in disk.weighed} > {"wheelmill/build", "wheelmill/runtime"}


def _check(host: Host, printed: str) -> None:
    (group,) = host.planned()
    (report,) = host.artifacts.glob(f"report-*/reports/{group}.json")
    wheels: list[dict[str, Any]] = json.loads(report.read_bytes())["wheels"]
    assert [wheel["ok"] for wheel in wheels] == [True] * len(PYTHONS)
    assert "the disk is short: emptying caches of what other Pythons need" in printed
    (manifest,) = host.served.glob("releases/v*/manifest.json")
    names = [wheel["filename"] for wheel in json.loads(manifest.read_bytes())["wheels"]]
    assert {name.split("-")[2] for name in names} == {*PYTHONS}
    page = host.served / "pages" / "cu124" / "torch2.6" / "simple" / "wheelmill-demo-torch" / "index.html"
    listed = page.read_text()
    assert [tag for tag in PYTHONS if f"-{tag}-{tag}-" in listed] == [*PYTHONS]
