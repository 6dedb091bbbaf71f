"""The table of what torch exports, and the torches in which a wheel could load."""

import gzip
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.refusals import coded
from tests.shared_objects import compiled
from wheelmill.config.load import load_compatibility
from wheelmill.errors import UnreadableError
from wheelmill.names import ProjectVersion, TorchVersion
from wheelmill.system import own_installation
from wheelmill.wheel.shared_objects import CodeBudget, SharedObject
from wheelmill.wheel.torch_symbols import (
    TABLE,
    Exported,
    TorchBuild,
    TorchFit,
    TorchSymbols,
    TorchWindow,
    describe_symbol,
    window_of,
)


def build(minor: int) -> TorchBuild:
    return TorchBuild(
        torch=TorchVersion(2, minor),
        release=ProjectVersion(f"2.{minor}.0"),
        wheel=f"torch-2.{minor}.0-cp312-cp312-manylinux_2_28_x86_64.whl",
        cxx11_abi=minor > 6,
        symbols=2,
        libraries=(),
        nvidia=(),
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
    [
        *(b"", b"no gzip", TorchSymbols.of(SYMBOLS, checked="2026-11-22", source="here").packed()[:-9]),
        *(gzip.compress(text, mtime=0) for text in (b"no JSON\n", b"{}\n", b"[1]\n_ZN2at 1\n")),
    ],
)
def test_what_is_no_whole_table_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / TABLE).write_bytes(content)
    with pytest.raises(UnreadableError, check=coded("symbols-invalid")):
        TorchSymbols.read(tmp_path / TABLE)


def test_libraries_that_only_cuda_builds_have_are_told_apart(tmp_path: Path) -> None:
    def library(name: str, *symbols: str) -> SharedObject:
        path = compiled(tmp_path / name, "".join(f"void {symbol}(void) {{}}" for symbol in symbols))
        return SharedObject.read(path, name=f"torch/lib/{name}", budget=CodeBudget())

    found = Exported.of(
        (
            library("libtorch_cpu.so", "_ZN2at1aEv", "_ZN3c104bothEv", "mkl_blas_dgemm"),
            library("libc10_cuda.so", "_ZN3c104cudaEv", "_ZN3c104bothEv"),
        )
    )
    assert found == exported("_ZN2at1aEv", "_ZN3c104bothEv", with_cuda=("_ZN3c104cudaEv",))


def test_the_table_that_ships_is_small_and_of_torches_that_are_built_for() -> None:
    path = own_installation.CONFIG / TABLE
    known = {build.torch for build in TorchSymbols.read(path, frozenset()).summary.builds}
    assert path.stat().st_size < 3 << 20
    assert {TorchVersion(2, minor) for minor in range(16)} <= known
    assert known <= set(load_compatibility(own_installation.CONFIG).torch)


OLD_STRING = "_ZN3c103oldERKSs"
NEW_STRING = "_ZN3c103newENSt7__cxx1112basic_stringE"
OF_MINOR = {
    6: (OLD_STRING, "_ZN2at5emptyEv"),
    10: (NEW_STRING, "_ZN2at5emptyEv", "_ZN3c104goneEv"),
    11: (NEW_STRING, "_ZN2at5emptyEv", "_ZN3c104goneEv", "_ZN3c104onceEv"),
    14: (NEW_STRING, "_ZN2at5emptyEv"),
}
"""What torch 2.6 and so on define."""


@pytest.fixture(scope="module")
def table_of_torch_window() -> TorchSymbols:
    builds = {build(minor): exported(*symbols, with_cuda=("_ZN3c104cudaEv",)) for minor, symbols in OF_MINOR.items()}
    return TorchSymbols.of(builds, checked="2026-11-22", source="here")


def library(folder: Path, *, needs: Sequence[str] = (), defines: Sequence[str] = (), weak: str = "") -> SharedObject:
    calls = "".join(f"{symbol}();" for symbol in needs)
    code = [*(f"extern void {symbol}(void);" for symbol in needs), *(f"void {symbol}(void) {{}}" for symbol in defines)]
    code += [f"extern void {weak}(void) __attribute__((weak));"] if weak else []
    path = folder / f"lib{len(list(folder.iterdir()))}.so"
    compiled(path, f"{' '.join(code)} void used{path.stem}(void) {{ {calls} {f'if ({weak}) {weak}();' * bool(weak)} }}")
    return SharedObject.read(path, name=path.name, budget=CodeBudget())


def window(table_of_torch_window: TorchSymbols, *libraries: SharedObject) -> TorchWindow:
    found = window_of(libraries, table_of_torch_window)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("needs", "weak", "said", "lacking"),
    [
        (["_ZN3c104goneEv", "_ZN2at5emptyEv", NEW_STRING], "", "torch 2.10 and 2.11 only", ("_ZN3c104goneEv",)),
        (["_ZN2at5emptyEv"], "", "every torch from 2.6 to 2.14", ()),
        (["_ZN2at5emptyEv"], "_ZN3c104onceEv", "every torch from 2.6 to 2.14", ()),  # which may stay undefined
        (["_ZN3c106futureEv", "_ZN2at5emptyEv"], "", "no torch from 2.6 to 2.14", ("_ZN3c106futureEv",)),
        (["_ZN3c104cudaEv"], "", "every torch from 2.6 to 2.14", ()),
    ],
)
def test_a_wheel_could_load_where_all_its_symbols_are(
    needs: list[str],
    weak: str,
    said: str,
    lacking: tuple[str, ...],
    *,
    table_of_torch_window: TorchSymbols,
    tmp_path: Path,
) -> None:
    found = window(table_of_torch_window, library(tmp_path, needs=needs, weak=weak))
    assert str(found) == f"its symbols exist in {said}"
    assert found.lacking(TorchVersion(2, 14)) == lacking
    assert (found.lacking(TorchVersion(2, 13)), found.lacking(TorchVersion(2, 16))) == (None, None)  # not in the table
    assert (found.symbols, found.cuda) == (len(needs), needs == ["_ZN3c104cudaEv"])


def test_a_torch_with_another_cxx_abi_is_not_known(table_of_torch_window: TorchSymbols, tmp_path: Path) -> None:
    newer = window(table_of_torch_window, library(tmp_path, needs=[NEW_STRING]))
    older = window(table_of_torch_window, library(tmp_path, needs=[OLD_STRING]))
    assert str(newer) == "its symbols exist in every torch from 2.10 to 2.14"
    assert newer.lacking(TorchVersion(2, 6)) is None
    assert older.torches == (TorchFit(torch="2.6"),)


def test_what_the_wheel_defines_itself_is_not_torchs(table_of_torch_window: TorchSymbols, tmp_path: Path) -> None:
    user = library(tmp_path, needs=["_ZN3c104onceEv", "_ZN2at5emptyEv"])
    owner = library(tmp_path, defines=["_ZN3c104onceEv"])
    assert str(window(table_of_torch_window, user)) == "its symbols exist in torch 2.11 only"
    assert str(window(table_of_torch_window, user, owner)) == "its symbols exist in every torch from 2.6 to 2.14"


def test_what_others_must_define_says_nothing_of_torch(table_of_torch_window: TorchSymbols, tmp_path: Path) -> None:
    assert (
        window_of(
            [library(tmp_path, needs=["PyList_New", "cudaMalloc", "_ZN12attention3runEv"])], table_of_torch_window
        )
        is None
    )


def test_a_wheel_for_another_processor_is_not_known(table_of_torch_window: TorchSymbols, tmp_path: Path) -> None:
    library(tmp_path, needs=["_ZN2at5emptyEv"])
    (path,) = tmp_path.glob("*.so")
    content = bytearray(path.read_bytes())
    content[18:20] = (183).to_bytes(2, "little")  # EM_AARCH64
    path.write_bytes(content)
    assert window_of([SharedObject.read(path, name="other.so", budget=CodeBudget())], table_of_torch_window) is None


@pytest.mark.parametrize(
    ("symbol", "described"),
    [
        ("_ZN3c104goneEv", "c10::gone (_ZN3c104goneEv)"),
        ("_ZNK3c106SymInt6sym_neERKS0_", "c10::SymInt::sym_ne (_ZNK3c106SymInt6sym_neERKS0_)"),
        *((name, name) for name in ("forward", "_Z", "_ZNotMangled")),
    ],
)
def test_a_symbol_is_described_by_its_name_and_itself(symbol: str, described: str) -> None:
    assert describe_symbol(symbol) == described


@pytest.mark.parametrize("symbol", ["_ZN2at4\x1b[2JEv", "\x1b]0;", "_ZN2at3\ud8001a"])
def test_a_symbol_moves_no_cursor(symbol: str) -> None:
    assert describe_symbol(symbol).isprintable()


def test_a_long_symbol_is_not_shown_whole() -> None:
    assert len(describe_symbol("_ZN" + "1a" * 1_000_000)) < 600
