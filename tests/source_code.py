"""The source of wheelmill, parsed once for every test that looks through it: that takes longer than to look."""

import ast
import gc
import inspect
import itertools
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final

import wheelmill

ROOT: Final = Path(wheelmill.__file__).parent


@cache
def modules() -> Mapping[Path, ast.Module]:
    """Every file."""
    with _everything_stays():
        return {path: ast.parse(path.read_text()) for path in sorted(ROOT.rglob("*.py"))}


@cache
def nodes() -> tuple[tuple[Path, ast.AST], ...]:
    """Every node of every file, as `ast.walk` finds them."""
    with _everything_stays():
        return tuple((path, node) for path, module in modules().items() for node in ast.walk(module))


def attribute_docstrings(owner: type) -> dict[str, str]:
    """The docstrings below the attributes of a class, without those that it inherits."""
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(owner))).body
    assert isinstance(definition, ast.ClassDef)
    texts: dict[str, str] = {}
    for attribute, text in itertools.pairwise(definition.body):
        match attribute, text:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(docstring))):
                texts[name] = inspect.cleandoc(docstring)
            case _:
                pass
    return texts


@contextmanager
def _everything_stays() -> Iterator[None]:
    """Look for no garbage among what is made: it would be looked through many times, and for good."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
