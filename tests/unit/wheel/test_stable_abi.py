"""The stable ABI, as abi3info knows it."""

import pytest

from wheelmill.names import PythonVersion
from wheelmill.wheel.stable_abi import is_in_stable_abi


@pytest.mark.parametrize(
    ("symbol", "minor", "is_in"),
    [
        *(("PyList_New", 9, True), ("_Py_Dealloc", 9, True), ("PyExc_ValueError", 9, True)),
        *(("PyList_GetItemRef", 12, False), ("PyList_GetItemRef", 13, True), ("_PyObject_MakeTpCall", 13, False)),
        *(("PyBuffer_Release", 10, False), ("PyBuffer_Release", 11, True), ("cudaMalloc", 9, True)),
    ],
)
def test_a_symbol_is_stable_from_some_python_on_or_never(symbol: str, minor: int, is_in: bool) -> None:  # noqa: FBT001
    assert is_in_stable_abi(symbol, PythonVersion(3, minor)) == is_in
