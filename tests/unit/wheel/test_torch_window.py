"""In which torches a wheel could load, by the symbols that it leaves open."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.shared_objects import compiled
from wheelmill.names import ProjectVersion, TorchVersion
from wheelmill.wheel.elf import Budget
from wheelmill.wheel.shared_objects import SharedObject
from wheelmill.wheel.torch_links import window_of
from wheelmill.wheel.torch_symbols import Exported, TorchBuild, TorchSymbols
from wheelmill.wheel.torch_window import TorchFit, TorchWindow

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
def table() -> TorchSymbols:
    return TorchSymbols.of(
        {
            TorchBuild(
                torch=TorchVersion(2, minor),
                release=ProjectVersion(f"2.{minor}.0"),
                wheel="torch.whl",
                cxx11_abi=minor > 6,
                symbols=len(symbols),
            ): Exported(everywhere=frozenset(symbols), with_cuda=frozenset({"_ZN3c104cudaEv"}))
            for minor, symbols in OF_MINOR.items()
        },
        checked="2026-11-22",
        source="here",
    )


def library(folder: Path, *, needs: Sequence[str] = (), defines: Sequence[str] = (), weak: str = "") -> SharedObject:
    calls = "".join(f"{symbol}();" for symbol in needs)
    code = [*(f"extern void {symbol}(void);" for symbol in needs), *(f"void {symbol}(void) {{}}" for symbol in defines)]
    code += [f"extern void {weak}(void) __attribute__((weak));"] if weak else []
    path = folder / f"lib{len(list(folder.iterdir()))}.so"
    compiled(path, f"{' '.join(code)} void used{path.stem}(void) {{ {calls} {f'if ({weak}) {weak}();' * bool(weak)} }}")
    return SharedObject.read(path, name=path.name, budget=Budget())


def window(table: TorchSymbols, *libraries: SharedObject) -> TorchWindow:
    found = window_of(libraries, table)
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
    needs: list[str], weak: str, said: str, lacking: tuple[str, ...], *, table: TorchSymbols, tmp_path: Path
) -> None:
    found = window(table, library(tmp_path, needs=needs, weak=weak))
    assert str(found) == f"its symbols exist in {said}"
    assert found.lacking(TorchVersion(2, 14)) == lacking
    assert (found.lacking(TorchVersion(2, 13)), found.lacking(TorchVersion(2, 16))) == (None, None)  # not in the table
    assert (found.symbols, found.cuda) == (len(needs), needs == ["_ZN3c104cudaEv"])


def test_a_torch_with_another_cxx_abi_is_not_known(table: TorchSymbols, tmp_path: Path) -> None:
    newer = window(table, library(tmp_path, needs=[NEW_STRING]))
    older = window(table, library(tmp_path, needs=[OLD_STRING]))
    assert str(newer) == "its symbols exist in every torch from 2.10 to 2.14"
    assert newer.lacking(TorchVersion(2, 6)) is None
    assert older.torches == (TorchFit(torch=TorchVersion(2, 6)),)


def test_what_the_wheel_defines_itself_is_not_torchs(table: TorchSymbols, tmp_path: Path) -> None:
    user = library(tmp_path, needs=["_ZN3c104onceEv", "_ZN2at5emptyEv"])
    owner = library(tmp_path, defines=["_ZN3c104onceEv"])
    assert str(window(table, user)) == "its symbols exist in torch 2.11 only"
    assert str(window(table, user, owner)) == "its symbols exist in every torch from 2.6 to 2.14"


def test_what_others_must_define_says_nothing_of_torch(table: TorchSymbols, tmp_path: Path) -> None:
    assert window_of([library(tmp_path, needs=["PyList_New", "cudaMalloc", "_ZN12attention3runEv"])], table) is None


def test_a_wheel_for_another_processor_is_not_known(table: TorchSymbols, tmp_path: Path) -> None:
    library(tmp_path, needs=["_ZN2at5emptyEv"])
    (path,) = tmp_path.glob("*.so")
    content = bytearray(path.read_bytes())
    content[18:20] = (183).to_bytes(2, "little")  # EM_AARCH64
    path.write_bytes(content)
    assert window_of([SharedObject.read(path, name="other.so", budget=Budget())], table) is None
