"""Cases of docs/when-it-does-not-work.md with real torches, each mended by what the page and doctor say."""

import json
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.machine_folders import BASE
from tests.page_server import Answer, PageServer, in_pieces, links_page
from tests.real.conftest import Command, another_person
from tests.trouble_page import sections
from tests.wheels import write_wheel
from wheelmill.installers.uv import own_uv
from wheelmill.system.own_installation import ROOT

pytestmark = pytest.mark.real

OLD, NEW = "torch==2.11.0", "torch==2.14.1"
GONE = "_ZN5torch8autograd10deleteNodeEPNS0_4NodeE"
"""A function of torch 2.11 that torch 2.14 has not."""
LOADS = b"""
import pathlib, torch
torch.ops.load_library(pathlib.Path(__file__).with_name("_basis_cuda.so"))
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trouble") / "env"
    subprocess.run([own_uv(), "venv", "--quiet", "--python", BASE, folder], check=True)
    return folder


def install(environment: Path, *words: str | Path) -> None:
    subprocess.run([own_uv(), "pip", "install", "--quiet", "--python", environment, *words], check=True)


def run_python(environment: Path, code: str) -> str:
    """What Python says on stderr; nothing where all is well."""
    argv: list[str | Path] = [environment / "bin" / "python", "-c", code]
    done = subprocess.run(argv, cwd=environment, capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else ""


def compiled(environment: Path, folder: Path, torch: str, calls: str) -> Path:
    """A wheel of torch-spline-conv's name whose library is linked to the installed torch, and calls a function."""
    (libraries,) = environment.glob("lib/python*/site-packages/torch/lib")
    output = folder / "_basis_cuda.so"
    link: list[str | Path] = ["-L", libraries, "-Wl,--no-as-needed", "-ltorch_cpu", "-lc10"]
    source = f"void {calls}(void); void start(void) {{ {calls}(); }}"
    gcc: list[str | Path] = ["gcc", "-x", "c", "-shared", "-fPIC", "-o", output, "-", *link]
    subprocess.run(gcc, input=source, text=True, check=True)
    version = f"1.2.2+cu130torch{torch}"
    return write_wheel(
        folder / f"torch_spline_conv-{version}-py3-none-linux_x86_64.whl",
        metadata=f"Metadata-Version: 2.1\nName: torch-spline-conv\nVersion: {version}\nRequires-Dist: torch\n",
        files={"torch_spline_conv/__init__.py": LOADS, "torch_spline_conv/_basis_cuda.so": output.read_bytes()},
    )


@pytest.mark.nightly
def test_an_undefined_symbol_mended(environment: Path, wheelmill: Command, server: PageServer, tmp_path: Path) -> None:
    section = sections()["Undefined symbol"]
    install(environment, OLD)
    old = compiled(environment, tmp_path, "2.11", GONE)
    install(environment, NEW)
    new = compiled(environment, tmp_path, "2.14", "malloc")
    for wheel in (old, new):
        server.pages[f"/wheels/{wheel.name.replace('+', '%2B')}"] = in_pieces(wheel.read_bytes())
    server.pages["/wheels/"] = Answer(links_page(old.name, new.name, sha256=None))
    here = ("--project", environment)
    env = another_person(tmp_path) | {"WHEELMILL_SOURCES": f"find-links:{server.url}/wheels/", "WHEELMILL_SITE": ""}
    install(environment, "--no-deps", old)
    assert section.seen_in(run_python(environment, "import torch_spline_conv"))
    (fault,) = json.loads(wheelmill("doctor", "--json", *here, exit_code=9, env=env).stdout)["faults"]
    assert fault["code"] == "torch"
    said = wheelmill("test", "--python-path", environment, exit_code=9, env=env).stderr
    assert section.seen_in(said)
    assert said.splitlines()[-1] == f'hint: explained in {ROOT}/docs/when-it-does-not-work.md: "Undefined symbol"'
    program, *words = shlex.split(fault["mended_by"][0])
    assert " ".join([program, *words[:1]]) in {" ".join(line.split()[:2]) for line in section.commands}
    wheelmill(*words, env=env)
    assert run_python(environment, "import torch_spline_conv") == ""
    install(environment, "--no-deps", old)
    assert section.seen_in(run_python(environment, "import torch_spline_conv"))
    (line,) = (line for line in section.commands if line.startswith("uv pip install"))
    install(environment, *shlex.split(line)[3:])
    assert run_python(environment, "import torch_spline_conv") == ""
    wheelmill("doctor", *here, env=env)


def test_a_library_that_was_removed_comes_back(environment: Path, wheelmill: Command, tmp_path: Path) -> None:
    section = sections()["A library of CUDA is not found"]
    install(environment, OLD)
    subprocess.run([own_uv(), "pip", "uninstall", "--python", environment, "nvidia-cublas"], check=True)
    assert section.seen_in(run_python(environment, "import torch"))
    env, here = another_person(tmp_path), ("--project", environment)
    found = json.loads(wheelmill("doctor", "--json", *here, exit_code=9, env=env).stdout)
    assert {fault["code"] for fault in found["faults"]} == {"library"}
    wheelmill("doctor", "--fix", "--yes", *here, env=env)
    assert run_python(environment, "import torch") == ""


def test_an_old_driver_gets_a_torch_for_an_older_cuda(environment: Path, wheelmill: Command, tmp_path: Path) -> None:
    (line,) = sections()["Driver too old"].commands
    install(environment, OLD)
    said = wheelmill(*line.split()[1:], "--project", environment, exit_code=9, env=another_person(tmp_path)).stderr
    assert "580.65.06" in said
    assert "--torch-backend cu128" in said
    assert '"Driver too old"' in said


def test_what_torch_itself_says_is_what_the_page_has(environment: Path) -> None:
    install(environment, OLD)
    (torch,) = environment.glob("lib/python*/site-packages/torch")
    code = "\n".join((torch / name).read_text() for name in ("cuda/__init__.py", "utils/cpp_extension.py"))
    code = code.replace("' \n", "").replace("'\n", "")
    for said in (
        "Torch not compiled with CUDA enabled",
        "is not compatible with the current PyTorch installation.",
        "CUDA_HOME environment variable is not set. ",
        "mismatches the version that was used to compile",
    ):
        assert said in code
        assert any(said.strip() in line for section in sections().values() for line in section.said), said
    runtime = next(torch.parent.glob("nvidia/*/lib/libcudart.so.*")).read_bytes()
    for said in ("no kernel image is available for execution on the device", "unsupported toolchain"):
        assert said.encode() in runtime
        assert any(said in line for section in sections().values() for line in section.said), said
    assert b"The NVIDIA driver on your system is too old (found version " in (torch / "lib/libc10_cuda.so").read_bytes()
