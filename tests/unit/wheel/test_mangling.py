"""Names of C++ as people read them."""

import pytest

from wheelmill.wheel.mangling import describe_symbol


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
