"""The table of what torch exports."""

import gzip
from pathlib import Path

import pytest

from tests.refusals import coded
from tests.shared_objects import compiled
from wheelmill.config.load import load_compatibility
from wheelmill.errors import UnreadableError
from wheelmill.names import ProjectVersion, TorchVersion
from wheelmill.system import resources
from wheelmill.wheel.elf import Budget
from wheelmill.wheel.shared_objects import SharedObject
from wheelmill.wheel.torch_symbols import TABLE, Exported, TorchBuild, TorchSymbols


def build(minor: int) -> TorchBuild:
    return TorchBuild(
        torch=TorchVersion(2, minor),
        release=ProjectVersion(f"2.{minor}.0"),
        wheel=f"torch-2.{minor}.0-cp312-cp312-manylinux_2_28_x86_64.whl",
        cxx11_abi=True,
        symbols=2,
    )


def exported(*everywhere: str, with_cuda: tuple[str, ...] = ()) -> Exported:
    return Exported(everywhere=frozenset(everywhere), with_cuda=frozenset(with_cuda))


SYMBOLS = {
    build(11): exported("_ZN2at1aEv", "_ZN3c101bEv", with_cuda=("_ZN3c104cudaEv",)),
    build(9): exported("_ZN2at1aEv", "_ZN3c104cudaEv"),
}


@pytest.fixture
def table() -> TorchSymbols:
    return TorchSymbols.of(SYMBOLS, checked="2026-11-22", source="here")


def test_equal_tables_are_equal_bytes_and_come_back_from_them(table: TorchSymbols, tmp_path: Path) -> None:
    path = tmp_path / TABLE
    path.write_bytes(table.packed())
    turned = TorchSymbols.of(dict(reversed(SYMBOLS.items())), checked="2026-11-22", source="here")
    assert turned.packed() == path.read_bytes()
    assert TorchSymbols.read(path) == table
    assert [str(each.torch) for each in table.summary.builds] == ["2.9", "2.11"]


def test_a_table_knows_what_each_torch_exports(table: TorchSymbols) -> None:
    assert {each: table.exported_by(each) for each in table.summary.builds} == SYMBOLS


@pytest.mark.parametrize("few", [0, 100], ids=["every line is read", "lines are found"])
@pytest.mark.parametrize("wanted", ["_ZN2at1aEv", "_ZN3c101bEv", "_ZN3c104cudaEv"])
def test_only_what_is_wanted_is_kept(
    wanted: str, few: int, table: TorchSymbols, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wheelmill.wheel.torch_symbols._FEW", few)
    (tmp_path / TABLE).write_bytes(table.packed())
    others = {"", "A", "_ZN2at1aEv ", wanted[:-1], f"{wanted}v", "z"}  # before all, beside it, behind all
    read = TorchSymbols.read(tmp_path / TABLE, frozenset({wanted} | others))
    assert dict(read.places) == {wanted: table.places[wanted]}


@pytest.mark.parametrize(
    "content",
    [b"", b"no gzip", *(gzip.compress(text, mtime=0) for text in (b"no JSON\n", b"{}\n", b"[1]\n_ZN2at 1\n"))],
)
def test_what_is_no_table_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / TABLE).write_bytes(content)
    with pytest.raises(UnreadableError, check=coded("symbols-invalid")):
        TorchSymbols.read(tmp_path / TABLE)


def test_a_truncated_table_is_refused(table: TorchSymbols, tmp_path: Path) -> None:
    (tmp_path / TABLE).write_bytes(table.packed()[:-9])
    with pytest.raises(UnreadableError):
        TorchSymbols.read(tmp_path / TABLE)


def test_libraries_that_only_cuda_builds_have_are_told_apart(tmp_path: Path) -> None:
    def library(name: str, *symbols: str) -> SharedObject:
        path = compiled(tmp_path / name, "".join(f"void {symbol}(void) {{}}" for symbol in symbols))
        return SharedObject.read(path, name=f"torch/lib/{name}", budget=Budget())

    found = Exported.of(
        (
            library("libtorch_cpu.so", "_ZN2at1aEv", "_ZN3c104bothEv", "mkl_blas_dgemm"),
            library("libc10_cuda.so", "_ZN3c104cudaEv", "_ZN3c104bothEv"),
        )
    )
    assert found == exported("_ZN2at1aEv", "_ZN3c104bothEv", with_cuda=("_ZN3c104cudaEv",))


def test_the_table_that_ships_is_small_and_of_torches_that_are_built_for() -> None:
    path = resources.CONFIG / TABLE
    known = {build.torch for build in TorchSymbols.read(path, frozenset()).summary.builds}
    assert path.stat().st_size < 3 << 20
    assert {TorchVersion(2, minor) for minor in range(16)} <= known
    assert known <= set(load_compatibility(resources.CONFIG).torch)
