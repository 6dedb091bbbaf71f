"""What torch's wheels on the package index export is read from their libraries alone."""

import datetime as dt
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.refusals import coded
from tests.shared_objects import compiled
from tests.simple_server import Answer, Server, serving
from tests.wheels import write_wheel
from wheelmill.config.load import load_compatibility
from wheelmill.config.maintenance.published import read_symbols, stale_torches
from wheelmill.config.model.compatibility import Compatibility
from wheelmill.errors import UnreadableError, UsageError
from wheelmill.names import TorchVersion
from wheelmill.system import own_installation
from wheelmill.wheel.torch_symbols import MachineLibraries, TorchSymbols

TODAY, LATER = dt.date(2026, 11, 22), dt.date(2026, 12, 24)
NAME = "torch-{}-cp312-cp312-manylinux_2_28_x86_64.whl"


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """The index that this machine is set to, without a project."""
    with serving(Server()) as server:
        monkeypatch.setenv("UV_DEFAULT_INDEX", f"{server.url}/simple/")
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        yield server


@pytest.fixture
def facts() -> Compatibility:
    """Of torch 2.10 and 2.11."""
    known = load_compatibility(own_installation.CONFIG)
    releases = {torch: known.torch[torch] for torch in (TorchVersion(2, 10), TorchVersion(2, 11))}
    return replace(known, torch=replace(known.torch, releases=releases))


def offer(index: Server, folder: Path, *, requires: str = "filelock", **libraries: str) -> None:
    """Put a wheel of torch on the index for each release: ``r2_11_0="_ZN2at1aEv"`` is what it exports."""
    names = []
    for number, (release, symbol) in enumerate(libraries.items()):
        code = compiled(folder / f"{number}.so", f"void {symbol}(void) {{}}").read_bytes()
        name = NAME.format(release.removeprefix("r").replace("_", "."))
        metadata = f"Metadata-Version: 2.1\nName: torch\nVersion: {name.split('-')[1]}\nRequires-Dist: {requires}\n"
        files = {"torch/lib/libtorch_cpu.so": code, "torch/bin/tool": b"\x7fELF"}
        wheel = write_wheel(folder / name, metadata=metadata, files=files)
        index.html[f"/files/{name}"] = Answer(content=wheel.read_bytes())
        names.append(name)
    links = "".join(f'<a href="/files/{name}">{name}</a>' for name in names)
    index.html["/simple/torch/"] = Answer(content=f"<!DOCTYPE html>{links}".encode(), content_type="text/html")


def offer_nvidia(index: Server, folder: Path) -> None:
    """Let torch require cuBLAS through ``cuda-toolkit``, and put wheels of both on the index."""
    wheels = {
        "cuda-toolkit": write_wheel(
            folder / "cuda_toolkit-13.0.2-py3-none-any.whl",
            metadata="Metadata-Version: 2.1\nName: cuda-toolkit\nVersion: 13.0.2\n"
            'Requires-Dist: nvidia-cublas==13.*; extra == "cublas"\nRequires-Dist: nvidia-nvjpeg; extra == "nvjpeg"\n',
            files={},
        ),
        "nvidia-cublas": write_wheel(
            folder / "nvidia_cublas-13.1.0-py3-none-manylinux_2_27_x86_64.whl",
            metadata="Metadata-Version: 2.1\nName: nvidia-cublas\nVersion: 13.1.0\n",
            files={"nvidia/cu13/lib/libcublas.so.13": b"", "nvidia/cu13/include/cublas.h": b""},
        ),
    }
    for project, wheel in wheels.items():
        index.html[f"/files/{wheel.name}"] = Answer(content=wheel.read_bytes())
        link = f'<!DOCTYPE html><a href="/files/{wheel.name}">{wheel.name}</a>'
        index.html[f"/simple/{project}/"] = Answer(content=link.encode(), content_type="text/html")


def read(facts: Compatibility, table: TorchSymbols | None = None, *, today: dt.date = TODAY) -> TorchSymbols:
    found = read_symbols(facts, table, today=today, tell=lambda _: None)
    assert found is not None
    return found


def test_the_libraries_of_each_torch_are_read(index: Server, facts: Compatibility, tmp_path: Path) -> None:
    offer(index, tmp_path, r2_10_0="_ZN2at1aEv", r2_11_0="_ZN2at1bEv")
    table = read(facts)

    assert {name: bits for name, (bits, _) in table.places.items()} == {"_ZN2at1aEv": 1, "_ZN2at1bEv": 2}
    assert [build.wheel for build in table.summary.builds] == [NAME.format("2.10.0"), NAME.format("2.11.0")]
    assert table.summary.checked == "2026-11-22"
    assert stale_torches(facts, table.summary) == []
    assert [build.libraries for build in table.summary.builds] == [
        (MachineLibraries(machine="x86_64", names=("libtorch_cpu.so",)),)
    ] * 2


def test_libraries_of_nvidia_are_those_of_required_wheels(index: Server, facts: Compatibility, tmp_path: Path) -> None:
    offer(index, tmp_path, r2_10_0="_ZN2at1aEv", r2_11_0="_ZN2at1bEv", requires="cuda-toolkit[cublas]==13.0.2")
    offer_nvidia(index, tmp_path)
    assert [build.nvidia for build in read(facts).summary.builds] == [("libcublas.so.13",)] * 2


def test_what_is_current_is_not_read_again(index: Server, facts: Compatibility, tmp_path: Path) -> None:
    offer(index, tmp_path, r2_10_0="_ZN2at1aEv", r2_11_0="_ZN2at1bEv")
    table = read(facts)
    index.asked.clear()

    assert read(facts, table, today=LATER) == table
    assert index.asked == []


def test_a_new_torch_joins_those_that_are_known(index: Server, facts: Compatibility, tmp_path: Path) -> None:
    offer(index, tmp_path, r2_10_0="_ZN2at1aEv")
    table = read(facts)
    assert stale_torches(facts, table.summary) == [TorchVersion(2, 11)]
    offer(index, tmp_path, r2_10_0="_ZN2at1zEv", r2_11_0="_ZN2at1aEv")

    newer = read(facts, table, today=LATER)

    assert {name: bits for name, (bits, _) in newer.places.items()} == {"_ZN2at1aEv": 0b11}
    assert newer.summary.checked == "2026-12-24"


def test_a_torch_that_the_index_lacks_is_told(index: Server, facts: Compatibility, tmp_path: Path) -> None:
    offer(index, tmp_path, r2_10_0="_ZN2at1aEv", r2_11_1="_ZN2at1bEv")
    told: list[str] = []
    read_symbols(facts, None, today=TODAY, tell=told.append)
    assert told[1] == "torch 2.11: the index has no wheel of 2.11.0 for linux_x86_64"


def test_an_index_without_torch_is_told(index: Server, facts: Compatibility) -> None:
    assert index.html == {}
    with pytest.raises(UsageError, check=coded("torch-not-in-index", "torch")):
        read(facts)


def test_a_wheel_without_libraries_is_refused(index: Server, facts: Compatibility, tmp_path: Path) -> None:
    offer(index, tmp_path, r2_10_0="_ZN2at1aEv")
    name = NAME.format("2.10.0")
    index.html[f"/files/{name}"] = Answer(content=write_wheel(tmp_path / name, files={"torch/a.py": b""}).read_bytes())
    with pytest.raises(UnreadableError, check=coded("torch-without-libraries")):
        read(facts)
