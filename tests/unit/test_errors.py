"""Every class of errors stands in one file, where its exit code is seen beside the others."""

import ast
import builtins
import re

from tests.source_code import ROOT, nodes
from wheelmill import errors


def is_error(name: str) -> bool:
    known = getattr(builtins, name, None) or getattr(errors, name, None)
    is_known = isinstance(known, type) and issubclass(known, BaseException)
    return is_known or name.endswith(("Error", "Exception"))


def test_all_classes_of_errors_stand_in_one_file() -> None:
    elsewhere = [
        f"{path.relative_to(ROOT)}: {node.name}"
        for path, node in nodes()
        if isinstance(node, ast.ClassDef)
        and path != ROOT / "errors.py"
        and any(is_error(ast.unparse(base).rpartition(".")[2].partition("[")[0]) for base in node.bases)
    ]
    assert elsewhere == []


def test_each_is_raised_with_a_code() -> None:
    """A `ConfigurationError` has the same for all of them: its faults say where each stands."""
    codes = {
        ast.unparse(node): ast.unparse(node.args[0]) if node.args else ""
        for _, node in nodes()
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and issubclass(getattr(errors, node.func.id, object), errors.WheelmillError)
        and node.func.id != "ConfigurationError"
    }
    assert [call for call, code in codes.items() if not re.fullmatch("'[a-z][a-z0-9-]*'", code)] == []
    assert codes


def test_their_list_names_each_with_its_exit_code() -> None:
    found = {
        name: error.exit_code
        for name, error in vars(errors).items()
        if isinstance(error, type) and issubclass(error, errors.WheelmillError)
    }
    text = errors.__doc__ or ""
    assert {name: int(code) for name, code in re.findall(r"(\w+Error) +(\d+)", text)} == found
