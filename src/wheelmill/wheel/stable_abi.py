"""The stable ABI of CPython, to which an abi3 wheel promises to keep (PEP 384).

https://docs.python.org/3/c-api/stable.html
"""

from __future__ import annotations

from wheelmill.names import PythonVersion


def is_in_stable_abi(symbol: str, python: PythonVersion) -> bool:
    """Whether a symbol of Python is one that every later Python has, too.

    Args:
        symbol: its name, such as ``PyList_New``; names that are not Python's are in it.
        python: the oldest Python that must have it.
    """
    if not symbol.startswith(("Py", "_Py")):
        return True
    from abi3info import DATAS, FUNCTIONS  # noqa: PLC0415 - slow to import, and few wheels are for the stable ABI
    from abi3info.models import PyVersion, Symbol  # noqa: PLC0415 - the same

    known = FUNCTIONS.get(Symbol(symbol)) or DATAS.get(Symbol(symbol))
    return known is not None and known.added <= PyVersion(python.major, python.minor)
