"""The factory in an image: its commands start in it, and one of them builds a wheel and tries it."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.conftest import DEMO, ROOT, docker_alone
from wheelmill.config.load import load_images
from wheelmill.names import CudaVersion

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("stand_ins")]

TRUSTED = Path(os.environ.get("SSL_CERT_FILE", "/etc/ssl/certs/ca-certificates.crt"))
BASE = """
FROM {image}
COPY certificates.pem constraints.txt /etc/
ENV PIP_CERT=/etc/certificates.pem SSL_CERT_FILE=/etc/certificates.pem PIP_CONSTRAINT=/etc/constraints.txt
"""
"""A base image that trusts whom this machine trusts, and has constraints of pip, as NVIDIA's images of PyTorch do."""


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("base")
    shutil.copy(TRUSTED, folder / "certificates.pem")
    (folder / "constraints.txt").write_text("six<1.10\nsetuptools<1\n")
    devel = load_images(ROOT / "config").cuda[CudaVersion(13, 0)].devel
    (folder / "Dockerfile").write_text(BASE.format(image=devel.tagged))
    base, made = "wheelmill-test/base", "wheelmill-test/factory"
    with docker_alone():
        subprocess.run(["docker", "build", "--quiet", "--tag", base, folder], check=True)
        done = subprocess.run([ROOT / "scripts" / "image", base, made], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        yield made
        subprocess.run(["docker", "image", "rm", "--force", made, base], check=True, capture_output=True)


def run(image: str, *words: str, mounted: Path | None = None) -> str:
    mount = ["--volume", f"{mounted}:/config:ro"] if mounted else []
    argv = ["docker", "run", "--rm", *mount, image, *words]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_its_commands_start(image: str) -> None:
    assert run(image, "--version").strip()
    assert "wheels to build: 2," in run(
        image, "plan", "flash-attn", "--cuda", "13.0", "--torch", "2.11", "--python", "3.12"
    )
    assert "no faults" in run(image, "config", "check")


def test_it_builds_and_tries_a_wheel_as_nobody_in_particular(image: str) -> None:
    said = run(
        image, "run", "wheelmill-demo", "--config", "/config", "--python", "3.11", "--cuda", "13.0", mounted=DEMO
    )
    assert "wheelmill_demo-1.0.0+cu130-cp311-cp311-" in said
