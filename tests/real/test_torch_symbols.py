"""Symbols of torch: a wheel needs one that its torch lacks, and in which torches those of other wheels are."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.real.conftest import Command, sampled
from tests.wheels import write_wheel
from wheelmill.installers.package_index import files_of, open_index
from wheelmill.names import TorchVersion, project_name
from wheelmill.web.client import Web
from wheelmill.web.ranges import RangeFile
from wheelmill.wheel.archive import open_archive, read_member
from wheelmill.wheel.shared_objects import read_members
from wheelmill.wheel.stable_abi import _WRAPPERS
from wheelmill.wheel.torch_symbols import TorchWindow, shipped_symbols, window_of

pytestmark = pytest.mark.real

SOURCE = """
void _ZN2at4_ops10not_so_now4callEv(void);
void *PyInit__C(void) { _ZN2at4_ops10not_so_now4callEv(); return 0; }
"""


def test_it_is_refused_by_name_before_it_is_installed(wheelmill: Command, tmp_path: Path) -> None:
    shared_object = tmp_path / "_C.so"
    subprocess.run(
        ["gcc", "-x", "c", "-shared", "-fPIC", "-o", shared_object, "-"], input=SOURCE, text=True, check=True
    )
    wheel = write_wheel(
        tmp_path / "broken-1.0+cu130torch2.11-cp312-cp312-manylinux_2_34_x86_64.whl",
        metadata="Metadata-Version: 2.1\nName: broken\nVersion: 1.0+cu130torch2.11\nRequires-Dist: torch==2.11.*\n",
        files={"broken/__init__.py": b"", "broken/_C.so": shared_object.read_bytes()},
    )
    (verdict,) = json.loads(wheelmill("smoke", wheel, "--json", exit_code=5).stdout)["wheels"]
    assert [finding["code"] for finding in verdict["findings"]] == ["undefined-symbol"]
    assert "_ZN2at4_ops10not_so_now4callEv" in verdict["findings"][0]["detail"]


def url_of(project: str, start: str, web: Web) -> str:
    """The wheel of a project for x86-64 whose name begins so."""
    names = {file.filename: file.url for file in files_of(project_name(project), web)}
    return next(url for name, url in names.items() if name.startswith(start) and name.endswith("x86_64.whl"))


def window(project: str, version: str) -> TorchWindow:
    with open_index() as web:
        url = url_of(project, f"{project}-{version}-cp312-cp312-", web)
        with open_archive(RangeFile(web, url, piece=1 << 20, budget=64 << 20)) as archive:
            members = [member for member in archive.infolist() if member.filename.endswith(".so")]
            found = window_of(read_members(archive, members))
    assert found is not None
    return found


NEWEST = ("torchvision", "0.26.0", 11, "its symbols exist in torch 2.11 only")


@sampled(
    ("project", "version", "minor", "says"),
    [
        ("torchvision", "0.20.1", 5, "its symbols exist in torch 2.5 only"),
        ("torchaudio", "2.6.0", 6, "its symbols exist in torch 2.6 only"),
        ("torchvision", "0.22.1", 7, "its symbols exist in torch 2.7 only"),
        ("torchaudio", "2.8.0", 8, "its symbols exist in torch 2.8 only"),
        ("torchvision", "0.25.0", 10, "its symbols exist in torch 2.10 and 2.11 only"),
        NEWEST,
    ],
    NEWEST,
)
def test_the_window_contains_the_torch_of_the_build(project: str, version: str, minor: int, says: str) -> None:
    found = window(project, version)
    assert found.lacking(TorchVersion(2, minor)) == ()
    assert str(found) == says


@pytest.mark.parametrize(
    ("version", "outside", "oldest"), [("2.8.0", 246, None), ("2.11.0", 0, "2.11")], ids=["before it moved", "after"]
)
def test_a_project_that_moved_to_the_stable_abi_has_nothing_outside_of_it(
    version: str, outside: int, oldest: str | None, wheelmill: Command
) -> None:
    with open_index() as web:
        url = url_of("torchaudio", f"torchaudio-{version}-cp312-cp312-", web)
    report = json.loads(wheelmill("show", url, "--stable", "--json").stdout)["code"]["stable_abi"]
    assert (sum(len(group["symbols"]) for group in report["outside"]), report["oldest"]) == (outside, oldest)


def test_the_operators_that_have_a_function_are_those_of_torch_s_header() -> None:
    table = shipped_symbols(frozenset())
    assert table is not None
    with open_index() as web:
        url = url_of("torch", table.summary.builds[-1].wheel, web)
        with open_archive(RangeFile(web, url, piece=1 << 20, budget=64 << 20)) as archive:
            header = read_member(archive, "torch/include/torch/csrc/stable/ops.h", 1 << 20).decode()
    dispatched = re.findall(r'"aten::(\w+)",\s*"(\w*)"', header)
    direct = re.findall(r"aoti_torch_aten_(\w+)\(", header)
    assert {*direct, *("_".join(filter(None, names)) for names in dispatched)} == _WRAPPERS.keys()
