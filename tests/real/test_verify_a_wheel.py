"""docs/verify-a-wheel.md, with a wheel that was built, signed and released here."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.commands import ROOT
from tests.github_server import REPOSITORY
from tests.real.conftest import DEMO, Command
from tests.shown_commands import Shown, missing_in, shown_in
from tests.sigstore_instance import Sigstore
from tests.unit.test_documents import UNTESTED
from wheelmill.wheel.attestation import TRUSTED_ROOT

pytestmark = pytest.mark.real

PAGE = [shown for shown in shown_in(ROOT / "docs" / "verify-a-wheel.md") if shown.command not in UNTESTED]
"""Its commands, but for one that asks GitHub."""
IN_A_CLONE = [shown for shown in PAGE if "config/" in shown.command]
PYTHON = "{}.{}".format(*sys.version_info)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """What every command is told: whose keys count, and what is built."""
    keys = Sigstore().write_trusted_root(tmp_path_factory.mktemp("keys") / "trusted_root.json")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return {"PATH": path, TRUSTED_ROOT: str(keys), "WHEELMILL_CONFIG": str(DEMO), "UV_CUDA_DRIVER_VERSION": "580.65.06"}


@pytest.fixture(scope="module")
def factory(tmp_path_factory: pytest.TempPathFactory, wheelmill: Command, environment: Mapping[str, str]) -> Path:
    """What a run leaves: a signed wheel in a release, and the index of it."""
    out = tmp_path_factory.mktemp("factory")
    run = ("run", "wheelmill-demo", "--python", PYTHON, "--cuda", "13.0", "--until", "smoke", "--output", out)
    wheelmill(*run, env=dict(environment))
    release = ("release", out / "wheels", "--store", f"dir:{out / 'releases'}")
    wheelmill(*release, "--checksums", out / "checksums.txt", env=dict(environment))
    signed = {name: sha256 for sha256, name in map(str.split, (out / "checksums.txt").read_text().splitlines())}
    (out / "wheels" / "bundle.jsonl").write_bytes(Sigstore().attest(signed) + b"\n")
    required = ("--require-attestation", REPOSITORY)
    wheelmill(*release, *required, env=dict(environment))
    wheelmill("index", "build", *release[2:], *required, "--output", out / "site", env=dict(environment))
    return out


@pytest.fixture(scope="module")
def address(factory: Path) -> Iterator[str]:
    """Where the factory's files are served."""
    serve = [sys.executable, "-m", "wheelmill", "index", "serve", str(factory), "--port", "0"]
    with subprocess.Popen(serve, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        line = next(line.strip() for line in server.stderr if line.strip().startswith("http://"))
        yield line.partition("/site/")[0]
        server.terminate()


@pytest.fixture(scope="module")
def words(factory: Path, address: str) -> Mapping[str, str]:
    """What stands here for the words of the page."""
    (manifest,) = factory.glob("releases/v*/manifest.json")
    (wheel,) = json.loads(manifest.read_bytes())["wheels"]
    return {
        "https://github.com/OWNER/REPO/releases/download/TAG": f"{address}/releases/{manifest.parent.name}",
        "https://OWNER.github.io/REPO": f"{address}/site",
        "github:OWNER/REPO": f"dir:{factory / 'releases'}",
        "OWNER/REPO": REPOSITORY,
        "WHEEL": wheel["filename"],
        "PROJECT": "wheelmill-demo",
        "--python 3.12": f"--python {PYTHON}",
    }


def run(shown: Shown, folder: Path, environment: Mapping[str, str], words: Mapping[str, str]) -> str:
    """Run a command of the page in a shell, and return what it printed when that is what the page shows."""
    command, printed = shown.command, shown.printed
    for word, here in words.items():
        command, printed = command.replace(word, here), printed.replace(word, here)
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=os.environ | environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    assert (command, done.returncode) == (command, shown.exit_code), done.stdout
    assert (command, missing_in(done.stdout, printed)) == (command, []), done.stdout
    return done.stdout


def test_every_command_about_a_wheel_says_what_the_page_says(
    factory: Path, environment: Mapping[str, str], words: Mapping[str, str], tmp_path: Path
) -> None:
    (wheel,) = factory.glob("releases/v*/*.whl")
    (tmp_path / wheel.name).write_bytes(wheel.read_bytes())
    said = {each.command: run(each, tmp_path, environment, words) for each in PAGE if each not in IN_A_CLONE}
    (manifest,) = factory.glob("releases/v*/manifest.json")
    sha256 = json.loads(manifest.read_bytes())["wheels"][0]["sha256"]
    assert said["sha256sum out/wheels/WHEEL"].split()[0] == sha256  # built again
    resolved = next(text for command, text in said.items() if command.startswith("wheelmill resolve"))
    assert "wheelmill-demo==1.0.0+cu130" in resolved
    assert wheel.name in next(path.read_text() for path in tmp_path.glob("site/simple/wheelmill-demo/index.html"))


def test_another_ones_signature_and_other_bytes_are_told(
    factory: Path, environment: Mapping[str, str], words: Mapping[str, str], tmp_path: Path
) -> None:
    (wheel,) = factory.glob("releases/v*/*.whl")
    (tmp_path / wheel.name).write_bytes(wheel.read_bytes() + b"\0")
    first, lists, compare = PAGE[:3]
    for each in (first, lists):
        run(each, tmp_path, environment, words)
    with pytest.raises(AssertionError, match="FAILED"):
        run(compare, tmp_path, environment, words)
    resolve = next(each for each in PAGE if each.command.startswith("wheelmill resolve"))
    with pytest.raises(AssertionError, match="is not attested by somebody/else"):
        run(resolve, tmp_path, environment, dict(words) | {"OWNER/REPO": "somebody/else"})


def test_a_clone_says_who_took_a_source_in(environment: Mapping[str, str]) -> None:
    lock = (ROOT / "config" / "packages.lock").read_text()
    sha256 = lock.partition("torch_spline_conv-1.2.2.tar.gz")[2].partition("sha256: ")[2].split()[0].strip('"')
    history, patches = (run(each, ROOT, environment, {"SHA256": sha256}) for each in IN_A_CLONE)
    assert history.startswith("commit ")
    assert "torch-spline-conv-shared-kernels.patch" in patches
