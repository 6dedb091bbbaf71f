"""What a ``setup.py`` declares: its extensions, the environment variables that it reads, what it imports."""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from wheelmill.config.survey.script_texts import Script, Texts, last_name
from wheelmill.config.survey.source_tree import SourceTree

SETUP: Final = "setup.py"

_OPPOSITE: Final = {"0": "1", "FALSE": "TRUE", "False": "True", "false": "true", "OFF": "ON", "NO": "YES"}


@dataclass(frozen=True, kw_only=True)
class ExtensionCall:
    """An extension that it declares."""

    kinds: frozenset[str]
    """``CUDAExtension``; several where something decides."""
    modules: Texts
    """Names that it may have; none where they are computed."""
    sources: Texts
    """Files and patterns; what is computed is left out."""
    limited: bool
    """Whether it keeps to Python's stable ABI."""
    line: int


@dataclass(frozen=True, kw_only=True)
class VariableRead:
    """An environment variable that it reads."""

    name: str
    default: str
    switch: str
    """What switches it on: what it is compared with, or the opposite of its default."""
    line: int


class SetupScript:
    """The script of one source; an empty one says nothing."""

    def __init__(self, content: bytes, origin: str) -> None:
        """Read the bytes of a script.

        Raises:
            UsageError: they are no Python.
        """
        self._script = Script(content, origin)

    @classmethod
    def read(cls, tree: SourceTree, folder: str = "") -> SetupScript:
        """Read the script of a source.

        Args:
            tree: the files of the source.
            folder: where in it the build starts, with a slash behind it; empty at the top.

        Raises:
            UsageError: it is no Python, or too long.
        """
        return cls(tree.content(folder + SETUP), folder + SETUP)

    def argument(self, name: str) -> Texts:
        """What ``setup()`` is given for an argument, as far as it is plain text."""
        return tuple(text for value in self._given(name) for text in self._script.texts(value))

    def _given(self, name: str) -> Iterator[ast.expr]:
        calls = (call for call in self._script.calls if last_name(call.func) == "setup")
        return (keyword.value for call in calls for keyword in call.keywords if keyword.arg == name)

    @property
    def extension_line(self) -> int | None:
        """Where it declares an extension, in words that are understood or others; None where it declares none."""
        lines = [each.line for each in self.extensions]
        lines += [value.lineno for value in self._given("ext_modules") if not self._is_empty(value)]
        return next(iter(lines), None)

    def _is_empty(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Name):
            values = self._script.values_of(node)
            return bool(values) and all(isinstance(value, ast.List) and not value.elts for value in values)
        return isinstance(node, ast.List) and not node.elts

    @functools.cached_property
    def extensions(self) -> tuple[ExtensionCall, ...]:
        """What it declares, in the order of its lines."""
        texts = self._script.texts
        found = []
        for call in self._script.calls:
            if kinds := frozenset(self._kinds(call.func)):
                given = dict(zip(("name", "sources"), call.args, strict=False))
                given |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
                limited = given.get("py_limited_api")
                found.append(
                    ExtensionCall(
                        kinds=kinds,
                        modules=texts(given.get("name")),
                        sources=texts(given.get("sources")),
                        limited=isinstance(limited, ast.Constant) and limited.value is True,
                        line=call.lineno,
                    )
                )
        return tuple(sorted(found, key=lambda each: each.line))

    @functools.cached_property
    def variables(self) -> tuple[VariableRead, ...]:
        """The environment variables that it reads, each once."""
        found: dict[str, VariableRead] = {}
        for node, key, default in self._readings():
            (fallback,) = self._script.texts(default)[:1] or ("",)
            switch = self._compared_text(node) or _OPPOSITE.get(fallback, "1")
            for name in self._script.texts(key):
                read = VariableRead(name=name, default=fallback, switch=switch, line=node.lineno)
                found.setdefault(name, read)
        return tuple(found.values())

    @functools.cached_property
    def imports(self) -> dict[str, int]:
        """Modules of others that it imports, by the name before the first dot, with their lines.

        Python's own are left out and, torch aside, those that it can do without.
        """
        found: dict[str, int] = {}
        for node in self._script.nodes:
            match node:
                case ast.Import(names=aliases):
                    names = [alias.name for alias in aliases]
                case ast.ImportFrom(module=str(module), level=0):
                    names = [module]
                case _:
                    continue
            for name in (name.partition(".")[0] for name in names):
                if name not in sys.stdlib_module_names and (name == "torch" or not self._is_optional(node)):
                    found.setdefault(name, node.lineno)
        return found

    def texts_with(self, *words: str) -> Iterator[tuple[str, int]]:
        """Texts in it that hold one of some words, with their lines; a text that nothing is done with is a comment."""
        for node in self._script.nodes:
            match node:
                case ast.Constant(value=str(text)) if any(word in text for word in words):
                    if not isinstance(self._script.above.get(node), ast.Expr):
                        yield text, node.lineno

    def _kinds(self, function: ast.expr) -> Iterator[str]:
        """Which classes of extensions a function may be."""
        name = last_name(function)
        if name.endswith("Extension") and name != "BuildExtension":
            yield name
        elif isinstance(function, ast.Name):
            for value in self._script.values_of(function):
                leaves = (last_name(leaf) for leaf in ast.walk(value) if isinstance(leaf, ast.Name | ast.Attribute))
                yield from (leaf for leaf in leaves if leaf.endswith("Extension") and leaf != "BuildExtension")

    def _readings(self) -> Iterator[tuple[ast.expr, ast.expr, ast.expr | None]]:
        """Where an environment variable is read: the expression, the variable's name and its default."""
        for node in self._script.nodes:
            match node:
                case ast.Call(func=ast.Attribute(value=owner, attr="get"), args=[key, *default]) if _is_environ(owner):
                    yield node, key, default[0] if default else None
                case ast.Call(func=function, args=[key, *default]) if last_name(function) == "getenv":
                    yield node, key, default[0] if default else None
                case ast.Subscript(value=owner, slice=key, ctx=ast.Load()) if _is_environ(owner):
                    yield node, key, None
                case ast.Compare(left=key, comparators=[owner]) if _is_environ(owner):
                    yield node, key, None

    def _compared_text(self, node: ast.AST) -> str | None:
        """The text that something read is compared with, or None."""
        for _ in range(4):  # int(...), .upper(), ...
            node = self._script.above.get(node, node)
            if isinstance(node, ast.Compare):
                found = (text for each in node.comparators for text in self._script.texts(each))
                return next((text for text in found if text), None)
        return None

    def _is_optional(self, node: ast.AST) -> bool:
        while (above := self._script.above.get(node)) is not None:
            if isinstance(above, ast.Try) and above.handlers:
                return True
            node = above
        return False


def _is_environ(node: ast.expr) -> bool:
    return last_name(node) == "environ"
