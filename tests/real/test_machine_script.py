"""What the site's script reads of a machine: the tables of nvidia-smi as drivers from 418 to 610 lay them out."""

import json
import subprocess
from dataclasses import replace
from typing import Any

import pytest

from tests.real.conftest import Command
from tests.releases import manifests_in, store_in
from tests.unit.client.conftest import TARGET
from tests.unit.release.conftest import NOW, certified_wheel
from wheelmill.cli.client.environment import environment_content
from wheelmill.index.collect import site_of_releases
from wheelmill.index.site.finder import FinderData, finder_data
from wheelmill.index.site.wheels import wheel_groups
from wheelmill.index.tree import Catalogue
from wheelmill.names import Architecture, CudaVersion, Gpu, project_name
from wheelmill.plan.targets import Plan
from wheelmill.release.publish import publish
from wheelmill.system import own_installation
from wheelmill.system.records import json_default
from wheelmill.wheel.gpu_code import read_gpu

pytestmark = pytest.mark.real

DEMO = project_name("demo")
STATIC = own_installation.INDEX / "static"

OLD = """\
Thu Sep 23 12:42:56 2021
+-----------------------------------------------------------------------------+
| NVIDIA-SMI 470.57.02    Driver Version: 470.57.02    CUDA Version: 11.4     |
|-------------------------------+----------------------+----------------------+
| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |
|                               |                      |               MIG M. |
|===============================+======================+======================|
|   0  Tesla V100-SXM2...  On   | 00000000:1A:00.0 Off |                    0 |
| N/A   33C    P0    41W / 300W |      0MiB / 16160MiB |      0%      Default |
|                               |                      |                  N/A |
+-------------------------------+----------------------+----------------------+
|   1  NVIDIA GeForce ...  Off  | 00000000:41:00.0 Off |                  N/A |
"""
OLDEST = """\
| NVIDIA-SMI 418.87.00    Driver Version: 418.87.00    CUDA Version: 10.1     |
|   0  Tesla T4            Off  | 00000000:00:1E.0 Off |                    0 |
"""
WINDOWS = """\
| NVIDIA-SMI 546.12                 Driver Version: 546.12       CUDA Version: 12.3     |
|-----------------------------------------+----------------------+----------------------+
| GPU  Name                     TCC/WDDM  | Bus-Id        Disp.A | Volatile Uncorr. ECC |
|=========================================+======================+======================|
|   0  NVIDIA GeForce RTX 3050 ...  WDDM  | 00000000:01:00.0 Off |                  N/A |
| N/A   52C    P0               7W /  60W |      0MiB /  4096MiB |      0%      Default |
"""
WIDE = """\
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 580.95.05              Driver Version: 580.95.05      CUDA Version: 13.0     |
+-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|=========================================+========================+======================|
|   0  NVIDIA H200                    On  |   00000000:03:00.0 Off |                    0 |
| N/A   28C    P0             77W /  700W |       1MiB / 143771MiB |      0%      Default |
+-----------------------------------------+------------------------+----------------------+
+-----------------------------------------------------------------------------------------+
| Processes:                                                                              |
|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |
|=========================================================================================|
|    0   N/A  N/A            1437      C   /usr/bin/python3                        520MiB |
"""
TWO_HALVES = """\
| NVIDIA-SMI 610.43.02              KMD Version: 610.43.02     CUDA UMD Version: 13.3     |
+-----------------------------------------+------------------------+----------------------+
|   0  NVIDIA B200                    On  |   00000000:63:00.0 Off |                    0 |
|   1  NVIDIA B200                    On  |   00000000:68:00.0 Off |                    0 |
"""
NO_CUDA = """\
| NVIDIA-SMI 575.64.03              Driver Version: 575.64.03      CUDA Version: N/A      |
|   0  NVIDIA GeForce RTX 5070        Off |   00000000:02:00.0  On |                  N/A |
"""
SHARED_MEMORY = """\
| NVIDIA-SMI 580.95.05              Driver Version: 580.95.05      CUDA Version: 13.0     |
|   0  NVIDIA GB10                    On  |   0000000F:01:00.0 Off |                  N/A |
| N/A   36C    P8              3W /  N/A  | Not Supported          |      0%      Default |
"""
LIST = "GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-5c2c4b4f-0000-1111-2222-333344445555)\n"

READ: dict[str, tuple[str, list[str | None], str | None, str | None]] = {
    OLDEST: ("418.87.00", ["7.5"], "10.1", None),
    OLD: ("470.57.02", ["7.0", None], "11.4", None),
    WINDOWS: ("546.12", ["8.6"], "12.3", "win_amd64"),
    WIDE: ("580.95.05", ["9.0"], "13.0", None),
    TWO_HALVES: ("610.43.02", ["10.0", "10.0"], "13.3", None),
    NO_CUDA: ("575.64.03", ["12.0"], None, None),
    SHARED_MEMORY: ("580.95.05", ["12.1"], "13.0", None),
}
NAMES = (
    *("Tesla V100-SXM2-32GB", "NVIDIA A100-SXM4-40GB", "NVIDIA A100 80GB PCIe", "NVIDIA GeForce RTX 4090 Laptop GPU"),
    *(
        "NVIDIA GeForce RTX 3060 Ti",
        "NVIDIA RTX A6000",
        "NVIDIA RTX 6000 Ada Generation",
        "Quadro RTX 8000",
        "NVIDIA L40S",
    ),
    *("NVIDIA GeForce GTX 1660 SUPER", "NVIDIA H100 80GB HBM3", "NVIDIA GH200 480GB", "NVIDIA GB200", "NVIDIA H20-3e"),
    *("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "NVIDIA GeForce RTX 5090 D", "NVIDIA TITAN V", "TITAN RTX"),
    *(
        *("NVIDIA GeForce ...", "NVIDIA CMP 170HX", "NVIDIA GeForce GTX 1070", "NVIDIA RTX 40...", "Orin (nvgpu)"),
        "NVIDIA Thor",
    ),
    *("NVIDIA Jetson Thor", "NVIDIA A10G", "NVIDIA A16-2Q", "Graphics Device", "__proto__", "constructor"),
)


def answer(expression: str, **given: Any) -> Any:
    scripts = "\n".join((STATIC / name).read_text() for name in ("match.js", "machine.js"))
    program = f"{scripts}\nconst given = JSON.parse(require('fs').readFileSync(0));\n"
    program += "const wheels = new Wheels(given.data), cards = given.data.cards;\n"
    program += (
        "function tried(text) { try { return readMachine(text, cards); } catch (error) { return error.message; } }\n"
    )
    program += f"console.log(JSON.stringify({expression}));"
    done = subprocess.run(
        ["node", "--eval", program], input=json.dumps(given), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> FinderData:
    """Wheels for two CUDAs: with machine code for Hopper, and portable code of it."""
    folder = tmp_path_factory.mktemp("store")
    store = store_in(folder / "releases")
    wheels = []
    for label, python in (
        ("cu130torch2.11", 312),
        ("cu130torch2.11", 311),
        ("cu128torch2.10", 312),
        ("cu118torch2.6", 312),
    ):
        wheel = certified_wheel(folder / f"demo-1.0+{label}-cp{python}-cp{python}-manylinux_2_28_x86_64.whl")
        sass = ("sm_70", "sm_80", "sm_90") if label.startswith("cu11") else ("sm_80", "sm_90")
        evidence = replace(wheel.certificate.evidence, sass=sass, ptx=("compute_90",))
        wheels.append(replace(wheel, certificate=replace(wheel.certificate, evidence=evidence)))
    publish(store, wheels, now=NOW)
    site = site_of_releases(manifests_in(store), "")
    drivers = {CudaVersion(13, 0): "580.65.06", CudaVersion(12, 8): "525.60.13", CudaVersion(11, 8): "450.80.02"}
    catalogue = Catalogue(packages={}, plan=Plan(targets=(), skips=()), drivers=drivers)
    return finder_data({DEMO: wheel_groups(site.projects[DEMO])}, site.torches, catalogue)


def test_every_layout_is_read(data: FinderData) -> None:
    said = answer("given.texts.map(tried)", data=data, texts=list(READ))
    read = [(it["driver"], [gpu["capability"] for gpu in it["gpus"]], it["driverCuda"], it["platform"]) for it in said]
    assert read == list(READ.values())


def test_the_list_of_gpus_says_nothing_of_the_driver(data: FinderData) -> None:
    said = answer("tried(given.text)", data=data, text=LIST)
    assert said["gpus"] == [{"name": "NVIDIA A100-SXM4-80GB", "capability": "8.0"}]
    assert said["driver"] is None


def test_gpus_have_the_names_that_commands_know(data: FinderData) -> None:
    def read(name: str) -> str | None:
        try:
            return read_gpu(name).capability
        except ValueError:
            return None

    said = answer("given.names.map((name) => capabilityOf(name, cards))", data=data, names=NAMES)
    assert dict(zip(NAMES, said, strict=True)) == {name: read(name) for name in NAMES}


def test_the_json_of_environment_is_read(data: FinderData) -> None:
    target = replace(
        TARGET,
        driver="580.65.06",
        driver_cuda=CudaVersion(13, 0),
        gpus=(Gpu(name="H200", capability=Architecture(9, 0)),),
    )
    content = {"schema": "wheelmill.environment/1", **environment_content(target)}
    said = answer("tried(given.text)", data=data, text=json.dumps(content, default=json_default))
    assert said["gpus"] == [{"name": "H200", "capability": "9.0"}]
    assert [said[key] for key in ("python", "cuda", "torch", "platform", "driverCuda")] == [
        *(str(each) for each in (target.python, target.cuda, target.torch, target.platform, target.driver_cuda))
    ]


BROKEN = (
    *("", "hello", "{", "{}", "[1]", '{"schema": 1}', '{"schema": "wheelmill.environment/2"}', "NVIDIA-SMI has failed"),
    *("\0", "<script>", "| NVIDIA-SMI 580.95.05 Driver", "x" * (1 << 21), "name\nfoo\nPython\n", "NVIDIA driver, foo"),
    *("bash: nvidia-smi: command not found", WIDE[:150], '{"schema": "wheelmill.environment/1", "gpus": [null'),
)


def test_what_is_something_else_is_refused_in_words(data: FinderData) -> None:
    said = answer("given.texts.map(tried)", data=data, texts=BROKEN)
    assert [each for each in said if not (isinstance(each, str) and each.endswith("."))] == []


@pytest.mark.parametrize(
    "value", [None, 1, [], {}, True, "<b>", "9" * 1000, [None], [{}], [{"capability": 9.0}], {"a": []}]
)
def test_json_with_other_values_says_nothing(value: object, data: FinderData) -> None:
    keys = ("driver", "driver_cuda", "gpus", "python", "cuda", "torch", "platform")
    content = {"schema": "wheelmill.environment/1", **dict.fromkeys(keys, value)}
    said = answer("tried(given.text)", data=data, text=json.dumps(content))
    if isinstance(said, str):
        assert said.startswith("Nothing of this is known here")
        return
    assert [said[key] for key in ("driver", "driverCuda", "python", "cuda", "torch", "platform")] == [None] * 6
    assert [gpu["capability"] for gpu in said["gpus"]] in ([], [None])


SMI_QUERY = """\
==============NVSMI LOG==============
Driver Version                            : 570.86.10
CUDA Version                              : 12.8
Attached GPUs                             : 1
GPU 00000000:03:00.0
    Product Name                          : NVIDIA H200
    Product Brand                         : NVIDIA
"""
COLLECT_ENV = """\
Collecting environment information...
PyTorch version: 2.11.0+cu130
Is debug build: False
CUDA used to build PyTorch: 13.0
ROCM used to build PyTorch: N/A

OS: Ubuntu 22.04.4 LTS (x86_64)
Libc version: glibc-2.35

Python version: 3.12.4 (main, Jun  8 2026, 18:29:57) [GCC 11.4.0] (64-bit runtime)
Python platform: Linux-5.15.0-91-generic-x86_64-with-glibc2.35
Is CUDA available: True
CUDA runtime version: Could not collect
GPU models and configuration: GPU 0: NVIDIA A100-SXM4-80GB
GPU 1: NVIDIA H200
Nvidia driver version: 580.95.05
"""
PIP_LIST = """\
Package                  Version
------------------------ ------------
numpy                    2.3.1
nvidia-cuda-runtime-cu12 12.8.90
torch                    2.10.0
torchvision              0.25.0
"""
ENVIRONMENT = """\
python       3.12  (this environment)
interpreter  /srv/.venv/bin/python
platform     linux_x86_64
libc         glibc 2.35
torch        2.11  (installed)
cuda         13.0  (installed torch)
cxx11_abi    True
driver       580.95.05  (/proc/driver/nvidia/version)
driver_cuda  13.0
gpus         NVIDIA A100-SXM4-80GB (sm_80), Orin (nvgpu) (sm_87), GPU (sm_120)
"""
KINDS: dict[str, tuple[str, dict[str, str]]] = {
    "nvidia-smi": (WIDE, {"gpu": "9.0", "driver": "580.95.05", "driver_cuda": "13.0"}),
    "nvidia-smi -L": (LIST, {"gpu": "8.0"}),
    "nvidia-smi -q": (SMI_QUERY, {"gpu": "9.0", "driver": "570.86.10", "driver_cuda": "12.8"}),
    "nvidia-smi --query-gpu with a header": (
        "driver_version, name, memory.total [MiB], compute_cap\n535.54.03, NVIDIA Graphics, 40536 MiB, 8.0\n",
        {"gpu": "8.0", "driver": "535.54.03", "driver_cuda": ""},
    ),
    "nvidia-smi --query-gpu without one": (
        "Tesla T4, 535.54.03\nNVIDIA H200, 535.54.03\n",
        {"gpu": "7.5,9.0", "driver": "535.54.03", "driver_cuda": ""},
    ),
    "nvidia-smi --query-gpu=name": ("name\nTesla T4\nPython 3.12.4\n", {"gpu": "7.5", "python": "3.12"}),
    "torch.__version__": ("2.11.0+cu130\n", {"torch": "2.11", "cuda": "13.0"}),
    "torch.__version__ of a candidate": ("'2.16.0rc2+cu130'", {"torch": "2.16rc2", "cuda": "13.0"}),
    "README": ("2.11.0 12.8\n", {"torch": "2.11", "cuda": "12.8"}),
    "notebooks": ("2.11.0+cu130 13.0 NVIDIA H100 80GB HBM3\n", {"torch": "2.11", "cuda": "13.0", "gpu": "9.0"}),
    "torch for the CPU": ("2.11.0+cpu None\n", {"torch": "2.11"}),
    "python -V": ("Python 3.12.4\r\n", {"python": "3.12"}),
    "python -VV": ("Python 3.13.0 experimental free-threading build (main, Oct 2026) [GCC]\n", {"python": "3.13t"}),
    "pip list": (PIP_LIST, {"torch": "2.10", "cuda": "12.8"}),
    "pip freeze": ("numpy==2.3.1\ntorch==2.11.0+cu130\ntorchaudio==2.12.0\n", {"torch": "2.11", "cuda": "13.0"}),
    "collect_env": (COLLECT_ENV, {"python": "3.12", "torch": "2.11", "cuda": "13.0", "platform": "linux_x86_64",
                                  "glibc": "2.35", "gpu": "8.0,9.0", "driver": "580.95.05", "driver_cuda": ""}),
    "wheelmill environment": (ENVIRONMENT, {"python": "3.12", "torch": "2.11", "cuda": "13.0", "glibc": "2.35",
                                            "platform": "linux_x86_64", "gpu": "8.0,8.7,12.0", "driver": "580.95.05",
                                            "driver_cuda": "13.0"}),
    "uname -a": ("Linux host 5.15.0-91 #101-Ubuntu SMP x86_64 x86_64 x86_64 GNU/Linux", {"platform": "linux_x86_64"}),
    "ldd --version": ("ldd (Ubuntu GLIBC 2.35-0ubuntu3.4) 2.35\nCopyright (C) 2022 FSF\n", {"glibc": "2.35"}),
    "several": (f"$ python -V\nPython 3.12.4\n$ nvidia-smi -L\n{LIST}$ pip list\n{PIP_LIST}",
                {"python": "3.12", "gpu": "8.0", "torch": "2.10", "cuda": "12.8"}),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_each_program_gives_its_facts_and_no_others(kind: str, data: FinderData) -> None:
    text, facts = KINDS[kind]
    assert answer("choiceOf(tried(given.text))", data=data, text=text) == facts


def test_both_forms_of_environment_make_one_choice(data: FinderData, wheelmill: Command) -> None:
    given = "--python 3.12 --torch 2.11 --cuda 13.0 --driver 580.95.05 --gpu h200,t4 --libc 2.35"
    texts = [wheelmill("environment", *given.split(), *form).stdout for form in ([], ["--json"])]
    text, as_json = answer("given.texts.map((text) => choiceOf(tried(text)))", data=data, texts=texts)
    assert text == as_json
    assert text.keys() >= {"python", "torch", "cuda", "driver", "gpu", "glibc", "platform"}


def test_what_was_not_learnt_is_named_with_the_program_that_prints_it(data: FinderData) -> None:
    texts = ["Python 3.12.4", LIST, ENVIRONMENT, "2.11.0+cpu None"]
    said = answer("given.texts.map((text) => [learnt(tried(text)), notLearnt(tried(text))])", data=data, texts=texts)
    assert said[0] == [
        "Read: Python 3.12.",
        "Not learnt: the GPU (nvidia-smi), torch (pip list), the system (uname -a).",
    ]
    assert "the driver (nvidia-smi)" in said[1][1]
    assert said[2][1] == ""
    assert "for cpu, not for CUDA" in said[3][0]
    assert "torch" not in said[3][1]


HOSTILE = (
    *("| 0 " + " " * 400, "GPU 0: " + "(UUID: " * 70, "Linux " + "x86_64 " * 70, ",".join(["NVIDIA H200"] * 40)),
    *(
        "name, " * 80,
        "torch==2." + "1" * 400,
        "Python 3.12." + "x" * 400,
        "GPU 0: __proto__ (UUID: x)",
        "constructor, name",
    ),
    *("2.11.0+cu130 13.0 " + "y " * 200, "\u202e" * 400, "gpus  " + "(sm_90), " * 50),
)


@pytest.mark.parametrize("line", HOSTILE)
def test_a_megabyte_of_a_hostile_line_is_read_at_once(line: str, data: FinderData) -> None:
    text = (f"{line}\n" * (1 << 20))[: 1 << 20]
    started = "const before = performance.now(); tried(given.text);"
    milliseconds = answer(f"(() => {{ {started} return performance.now() - before; }})()", data=data, text=text)
    assert milliseconds < 5_000
    said = answer("tried(given.text.slice(0, 5000))", data=data, text=text)
    assert isinstance(said, str) or len(said["gpus"]) <= 64


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(WIDE, ["cu130torch2.11", "cu128torch2.10", "cu118torch2.6"], id="newest"),
        pytest.param(WIDE.replace("CUDA Version: 13.0", "CUDA Version: 12.8").replace("580.95.05", "570.86.10"),
                     ["cu128torch2.10", "cu118torch2.6"], id="older driver"),
        pytest.param(OLD, ["cu118torch2.6"], id="older GPU, by the oldest driver of a CUDA"),
        pytest.param(TWO_HALVES, ["cu130torch2.11", "cu128torch2.10", "cu118torch2.6"], id="known portable code"),
        pytest.param(LIST, ["cu130torch2.11", "cu128torch2.10", "cu118torch2.6"], id="no driver"),
        pytest.param(WIDE + "|   1  NVIDIA A100-SXM4-80GB          On  |   00000000:04:00.0 Off |               0 |\n",
                     ["cu130torch2.11", "cu128torch2.10", "cu118torch2.6"], id="two GPUs"),
        pytest.param(WIDE + "|   1  Jetson Orin                    On  |   00000000:04:00.0 Off |               0 |\n",
                     [], id="no code for one of two GPUs"),
        pytest.param(PIP_LIST, ["cu128torch2.10"], id="torch and its CUDA"),
    ],
)  # fmt: skip
def test_the_wheels_that_run_on_a_machine_are_left(text: str, expected: list[str], data: FinderData) -> None:
    choice = {"project": "demo", "platform": "linux_x86_64", "python": "3.12"}
    fitting = "wheels.fitting({ ...given.choice, ...choiceOf(tried(given.text)) })"
    said = answer(f"{fitting}.map((row) => row.exactVersion)", data=data, text=text, choice=choice)
    assert said == [f"1.0+{label}" for label in expected]
