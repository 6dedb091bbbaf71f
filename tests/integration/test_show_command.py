"""``wheelmill show``: a wheel of anybody's, on disk and on a server."""

import json
import os
import warnings
import zipfile
from pathlib import Path

import pytest

from tests.gpu_code import PTX, SASS, cubin, entry, fatbin
from tests.integration.conftest import Command
from tests.page_server import Answer, PageServer, in_pieces
from tests.shared_objects import EXTENSION, compiled
from tests.wheels import write_wheel
from wheelmill.web.ranges import WHOLE

NAME = "demo-1.0+cu130torch2.11-cp312-cp312-manylinux_2_28_x86_64.whl"
DIST_INFO = "demo-1.0+cu130torch2.11.dist-info"
METADATA = """Metadata-Version: 2.4
Name: demo
Version: 1.0+cu130torch2.11
Summary: Adds
License-Expression: MIT
Requires-Python: >=3.10
Requires-Dist: torch==2.11.*
"""
BILL = {"bomFormat": "CycloneDX", "specVersion": "1.4", "components": [{"name": "zlib", "version": "1.3"}]}


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    """A wheel that another program than ours built."""
    runtime = compiled(tmp_path / "libcudart.so.13", "", "-Wl,-soname,libcudart.so.13")
    files = {
        "demo/_C.so": compiled(tmp_path / "_C.so", EXTENSION, runtime).read_bytes(),
        "demo.libs/libz-0123abcd.so": compiled(tmp_path / "z.so", "").read_bytes(),
        f"{DIST_INFO}/licenses/LICENSE": b"You may.",
        f"{DIST_INFO}/sboms/auditwheel.cdx.json": json.dumps(BILL).encode(),
    }
    return write_wheel(tmp_path / NAME, metadata=METADATA, files=files)


def test_people_read_what_a_stranger_wants_to_know(wheelmill: Command, wheel: Path) -> None:
    lines = [line.split(None, 1) for line in wheelmill("show", wheel).stdout.splitlines()]
    told = {words[0]: words[1] for words in lines if len(words) == 2}
    assert told["demo"] == "1.0+cu130torch2.11"
    assert told["built"] == "for     CUDA 13.0, torch 2.11"
    assert told["driver"] == "580.65.06 or newer, on Linux"
    assert told["requires"] == "Python >=3.10, torch==2.11.*"
    assert told["licence"] == f"MIT; {DIST_INFO}/licenses/LICENSE"
    assert "machine code for sm_90" in told["code"]
    assert "9.0 (machine code) H100" in told["GPUs"]
    assert told["unpacked"].startswith("sm_90 8 bytes, host code ")
    assert "libcudart.so.13" in told["needs"]
    assert told["compilers"].startswith("GCC: ")
    assert told["SBOM"].endswith("auditwheel.cdx.json: CycloneDX 1.4; inside: zlib 1.3; for the build: 0")


def test_a_file_and_its_url_say_the_same_but_for_the_hash(wheelmill: Command, wheel: Path, server: PageServer) -> None:
    server.pages[f"/{NAME.replace('+', '%2B')}"] = in_pieces(wheel.read_bytes())
    here = json.loads(wheelmill("show", wheel, "--json").stdout)
    there = json.loads(wheelmill("show", f"{server.url}/{NAME.replace('+', '%2B')}#sha256=00", "--json").stdout)
    assert here["schema"] == "wheelmill.show/1"
    assert (here["cuda"], here["torch"], here["code"]["sass"]) == ("13.0", "2.11", ["9.0"])
    assert here["sizes"]["gpu_code"] == {"sm_90": 8}
    assert here["bundled"] == ["demo.libs/libz-0123abcd.so"]
    assert there == here | {"sha256": None}


def test_kernels_are_grouped_by_their_architectures(wheelmill: Command, tmp_path: Path) -> None:
    fat = fatbin(
        *(entry(SASS, number, cubin("_Z1fPf", "_Z1gPf")) for number in (80, 100)),
        entry(SASS, 90, cubin("_Z1fPf", "_Z1gPf", "_ZN4demo4lateEPf")),
        entry(PTX, 120, b"", 0x4000),  # another way of packing
    )
    code = ", ".join(map(str, fat))
    section = f'__attribute__((section(".nv_fatbin"), used)) static const unsigned char fat[] = {{{code}}};'
    files = {"demo/_C.so": compiled(tmp_path / "_C.so", section).read_bytes()}
    wheel = write_wheel(tmp_path / NAME, metadata=METADATA, files=files)
    lines = wheelmill("show", wheel, "--kernels").stdout.splitlines()
    start = next(number for number, line in enumerate(lines) if line.split() == ["kernels", "demo/_C.so"])
    groups = [line.strip().partition(": ") for line in lines[start + 1 :]]
    assert groups[:2] == [("sm_80 sm_90 sm_100", ": ", "2 kernels"), ("sm_90", ": ", "1 kernel: demo::late")]
    assert groups[2][0] == "compute_120"
    content = json.loads(wheelmill("show", wheel, "--kernels", "--json").stdout)["code"]
    assert content["kernels"] == [
        {"file": "demo/_C.so", "code": ["sm_80", "sm_90", "sm_100"], "names": ["_Z1fPf", "_Z1gPf"]},
        {"file": "demo/_C.so", "code": ["sm_90"], "names": ["_ZN4demo4lateEPf"]},
        {"file": "demo/_C.so", "code": ["compute_120"], "names": None},
    ]
    assert "kernels" not in json.loads(wheelmill("show", wheel, "--json").stdout)["code"]


CLONE, NODE = "_ZN2at4_ops5clone4callERKNS_6TensorE", "_ZN5torch8autograd10deleteNodeEPNS0_4NodeE"
SUMMARY = "3 symbols of torch, 2 outside of its stable ABI: 1 with a counterpart, the newest from torch 2.10; 1 without"
CLONED = "torch::stable::clone, from torch 2.10 on: at::_ops::clone::call"
KEEPS = "keeps to torch's stable ABI, from torch 2.9 on"


@pytest.mark.parametrize(
    ("beyond", "says", "outside"),
    [
        (
            (CLONE, NODE),
            [f"stable ABI {SUMMARY}", CLONED, "no counterpart: torch::autograd::deleteNode"],
            [("torch::stable::clone", "2.10", [CLONE]), (None, None, [NODE])],
        ),
        ((), [f"stable ABI {KEEPS}"], []),
    ],
)
def test_what_keeps_a_wheel_from_torch_s_stable_abi_is_named_with_its_counterpart(
    beyond: tuple[str, ...], says: list[str], outside: list[object], wheelmill: Command, tmp_path: Path
) -> None:
    called = ("aoti_torch_get_dim", *beyond)
    declared = "".join(f"void {name}(void);" for name in called)
    source = f"{declared} void f(void) {{ {' '.join(f'{name}();' for name in called)} }}"
    files = {"demo/_C.so": compiled(tmp_path / "_C.so", source).read_bytes()}
    wheel = write_wheel(tmp_path / NAME, metadata=METADATA, files=files)
    lines = [" ".join(line.split()) for line in wheelmill("show", wheel, "--stable").stdout.splitlines()]
    assert lines[-len(says) :] == says
    report = json.loads(wheelmill("show", wheel, "--stable", "--json").stdout)["code"]["stable_abi"]
    assert (report["symbols"], report["oldest"], report["unknown"]) == (len(called), "2.9", [])
    assert [(group["instead"], group["torch"], group["symbols"]) for group in report["outside"]] == outside
    assert "stable_abi" not in json.loads(wheelmill("show", wheel, "--json").stdout)["code"]


def test_two_wheels_say_what_makes_each_large(wheelmill: Command, wheel: Path, tmp_path: Path) -> None:
    other = write_wheel(tmp_path / "demo-2.0-py3-none-any.whl", files={"demo/data": b"#" * 12_000})
    said = wheelmill("show", wheel, "--beside", other).stdout.splitlines()
    assert said[:2] == [NAME, f"beside {other.name}"]
    rows = {line[:20].strip(): line[20:].split("  ") for line in said[2:]}
    told = {name: [cell.strip() for cell in cells if cell.strip()] for name, cells in rows.items()}
    assert list(told) == ["wheel, packed", "sm_90", "host code", "debug information", "other files"]
    assert told["sm_90"] == ["8 bytes", "-"]
    assert told["other files"][1] == "12.4 kB"
    both, one, alone = (
        json.loads(wheelmill("show", *words, "--json").stdout)
        for words in ((wheel, "--beside", other), (wheel,), (other,))
    )
    assert {"schema": one["schema"], **both.pop("beside")} == alone
    assert both == one
    wheelmill("show", wheel, "--beside", "nothing.whl", exit_code=2)


def test_a_server_without_ranges_gives_small_wheels_and_a_hint_for_large_ones(
    wheelmill: Command, wheel: Path, server: PageServer, tmp_path: Path
) -> None:
    path, large = "/demo-1.0-py3-none-any.whl", {"demo/data.bin": os.urandom(WHOLE)}
    server.pages[path] = Answer(wheel.read_bytes(), headers={})
    wheelmill("show", f"{server.url}{path}")
    server.pages[path] = Answer(write_wheel(tmp_path / "large" / path[1:], files=large).read_bytes(), headers={})
    refused = wheelmill("show", f"{server.url}/demo-1.0-py3-none-any.whl", exit_code=10)
    refused.check_refused("wheel-unreachable", "hint: download it")
    missing = wheelmill("show", f"{server.url}/demo-2.0-py3-none-any.whl", exit_code=10)
    missing.check_refused("wheel-unreachable", "hint: check the address")


@pytest.mark.parametrize("place", ["nothing.whl", "http://127.0.0.1:9/simple/", "ftp://127.0.0.1/x.whl"])
def test_what_is_neither_a_wheel_s_file_nor_its_url_is_refused(place: str, wheelmill: Command) -> None:
    assert "expected" in wheelmill("show", place, exit_code=2).stderr


def test_a_file_that_is_not_there_leads_to_what_has_its_wheels(wheelmill: Command) -> None:
    wheelmill("show", "demo.whl", exit_code=2).check_refused("no-wheel-file", "wheelmill explain PROJECT")
    wheelmill("show", "http://[::1", exit_code=2).check_refused("wheel-url-invalid", "http://[::1")


@pytest.mark.parametrize(("path", "exit_code"), [("page.html", 2), ("demo-1.0-py3-none-any.whl", 10)])
def test_the_password_in_a_url_is_not_told(path: str, exit_code: int, wheelmill: Command, server: PageServer) -> None:
    url = f"{server.url}/{path}"
    refused = wheelmill("show", url.replace("://", "://me:secret@"), exit_code=exit_code).stderr
    assert url in refused
    assert "secret" not in refused


def test_a_file_that_is_no_wheel_is_refused(wheelmill: Command, tmp_path: Path) -> None:
    (tmp_path / "demo-1.0-py3-none-any.whl").write_bytes(b"no")
    wheelmill("show", "demo-1.0-py3-none-any.whl", exit_code=9).check_refused("wheel-unreadable")
    (tmp_path / "demo.zip").write_bytes(b"no")
    wheelmill("show", "demo.zip", exit_code=9)


def test_what_it_says_of_itself_reaches_no_terminal_raw(wheelmill: Command, tmp_path: Path) -> None:
    bill = {**BILL, "components": [{"name": "\x1b[2J::error::x\n  licence  MIT"}, *[{"name": "x"}] * 100]}
    files = {f"{DIST_INFO}/sboms/x.json": json.dumps(bill).encode()}
    write_wheel(tmp_path / NAME, metadata=METADATA.replace("Adds", "\x1b[2J"), files=files)
    done = wheelmill("show", NAME)
    assert "\x1b" not in done.stdout
    assert "\\x1b[2J::error" in done.stdout
    assert "\n  licence  MIT" not in done.stdout
    assert " and 91 more; " in done.stdout


@pytest.mark.parametrize("name", ["demo/_C.so", "../_C.so", "demo/a\nb"])
def test_a_wheel_that_installers_should_not_be_given_is_refused_on_a_server_too(
    name: str, wheelmill: Command, wheel: Path, server: PageServer
) -> None:
    with zipfile.ZipFile(wheel, "a") as archive, warnings.catch_warnings(action="ignore"):
        archive.writestr(name, archive.read("demo/_C.so"))
    server.pages["/demo-1.0-py3-none-any.whl"] = in_pieces(wheel.read_bytes())
    there = wheelmill("show", f"{server.url}/demo-1.0-py3-none-any.whl", exit_code=9)
    assert there.stderr.startswith("error: demo-1.0-py3-none-any.whl: ")


def test_facts_of_a_build_that_are_none_say_nothing(wheelmill: Command, wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        files = {name: archive.read(name) for name in archive.namelist() if DIST_INFO not in name}
    write_wheel(tmp_path / NAME, metadata=METADATA, files={**files, f"{DIST_INFO}/wheelmill-build.json": b'{"a": 1}'})
    assert json.loads(wheelmill("show", NAME, "--json").stdout)["built"] is None
