"""``setup.py`` read without running it: its extensions, environment variables and imports, if written plainly."""

from __future__ import annotations

import ast
import functools
import itertools
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from wheelmill.config.survey.tree import SourceTree
from wheelmill.errors import UsageError

_DEEP: Final = 25
"""Maximum depth of an expression."""
_MANY: Final = 2_000
"""Maximum number of texts of one expression."""
_STEPS: Final = 200_000
"""Maximum number of evaluated expressions; real scripts take some thousands."""

_SAME: Final = ("abspath", "str", "Path", "normpath", "relpath", "fspath", "realpath", "list", "sorted", "tuple")
"""Calls that return their argument if it is text."""

Texts = tuple[str, ...]
Scope = ast.AST | None


class Script:
    """Syntax tree of a script; names resolve to the expressions assigned to them."""

    def __init__(self, content: bytes, origin: str) -> None:
        try:
            tree = ast.parse(content)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise UsageError(
                "setup-script-invalid", f"{origin} is not valid Python: {str(error) or 'it is nested too deeply'}"
            ) from None
        self.nodes = tuple(sorted(ast.walk(tree), key=lambda node: getattr(node, "lineno", 0)))
        self.above = {child: node for node in self.nodes for child in ast.iter_child_nodes(node)}
        self.calls = tuple(node for node in self.nodes if isinstance(node, ast.Call))
        self._steps = 0
        self._assigned: dict[tuple[Scope, str], list[ast.expr]] = {}
        for node in self.nodes:
            if assigned := [*_assignments(node)]:
                self._bind(self._scope_of(node), assigned)
        functions = {node.name: node for node in self.nodes if isinstance(node, ast.FunctionDef)}
        for function in functions.values():
            names = [argument.arg for argument in function.args.args]
            self._bind(function, zip(reversed(names), reversed(function.args.defaults), strict=False))
        self._arguments: dict[Scope, list[dict[str, ast.expr]]] = {}
        self._of_call: tuple[Scope, dict[str, ast.expr]] = (None, {})  # the function that `texts` reads, and one call
        for call in self.calls:
            if isinstance(call.func, ast.Name) and (called := functions.get(call.func.id)):
                names = [argument.arg for argument in called.args.args]
                arguments = dict(zip(names, call.args, strict=False))
                arguments |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
                self._bind(called, arguments.items())
                self._arguments.setdefault(called, []).append(arguments)

    def texts(self, node: ast.expr | None) -> Texts:
        """Return every text that an expression may be or hold, for each call of its function; empty if computed."""
        scope = self._scope_of(node) if node else None
        texts: dict[str, None] = {}
        for arguments in self._arguments.get(scope, [{}]):
            self._of_call = (scope, arguments)
            texts |= dict.fromkeys(self._texts(node, frozenset()))
        self._of_call = (None, {})
        return tuple(texts)

    def values_of(self, name: ast.Name) -> list[ast.expr]:
        """Return the expressions assigned to a name in its scope."""
        scope: Scope = name
        while scope is not None:
            scope = self._scope_of(scope)
            function, arguments = self._of_call
            if scope is function and name.id in arguments:
                return [arguments[name.id]]
            if values := self._assigned.get((scope, name.id)):
                return values
        return []

    def _scope_of(self, node: ast.AST) -> Scope:
        """Return the function around a node; None at module level."""
        while (node := self.above.get(node)) is not None and not isinstance(node, ast.FunctionDef):  # type: ignore[assignment]
            pass
        return node

    def _bind(self, scope: Scope, values: Iterable[tuple[str, ast.expr]]) -> None:
        """Record the values of names in a function; defaults and calls bind its parameters."""
        for name, value in values:
            self._assigned.setdefault((scope, name), []).append(value)

    def _goes_too_far(self, seen: frozenset[ast.AST]) -> bool:
        """Return True if an expression is too deep, or all expressions took too many steps."""
        self._steps += 1
        return len(seen) > _DEEP or self._steps > _STEPS

    def _texts(self, node: ast.expr | None, seen: frozenset[ast.AST]) -> Texts:
        if node is None or node in seen or self._goes_too_far(seen):
            return ()
        inside = seen | {node}
        match node:
            case ast.Constant(value=str(text)):
                texts: Texts = (text,)
            case ast.JoinedStr(values=parts):
                texts = _join([self._texts(part, inside) for part in parts])
            case ast.BinOp(left=left, right=right, op=ast.Add()) if not self._is_list(node, inside):
                texts = _join([self._texts(left, inside), self._texts(right, inside)])
            case ast.BinOp(left=left, right=right, op=ast.Div()):
                texts = _path([self._texts(left, inside), self._texts(right, inside)])
            case ast.BinOp(left=left, right=right, op=ast.Mod()):
                values = right.elts if isinstance(right, ast.Tuple) else [right]
                texts = _fill(self._texts(left, inside), "%s", [self._texts(value, inside) for value in values])
            case ast.Call():
                texts = self._texts_of_call(node, inside)
            case _:
                texts = tuple(text for each in self._alternatives(node) for text in self._texts(each, inside))
        return texts

    def _alternatives(self, node: ast.expr) -> Sequence[ast.expr]:
        """Return the expressions that an expression holds or may stand for."""
        match node:
            case ast.FormattedValue(value=value) | ast.Starred(value=value) | ast.ListComp(elt=value):
                return [value]
            case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items) | ast.Dict(values=items):
                return items
            case ast.IfExp(body=first, orelse=second) | ast.BinOp(left=first, right=second):
                return [first, second]
            case ast.Name():
                return self.values_of(node)
            case _:
                return ()

    def _texts_of_call(self, call: ast.Call, seen: frozenset[ast.AST]) -> Texts:
        given = [self._texts(each, seen) for each in call.args]
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        match last_name(call.func), given:
            case "join", [_, _, *_]:
                return _path(given)
            case "glob" | "rglob" as name, [pattern, *_]:
                return _path([self._texts(owner, seen), pattern] if name == "rglob" else [pattern])
            case "format", [_, *_]:
                return _fill(self._texts(owner, seen), "{}", given)
            case "get" | "getenv", [_, default]:
                return default
            case name, [first, *_] if name in _SAME:
                return first
        return ()

    def _is_list(self, node: ast.expr, seen: frozenset[ast.AST]) -> bool:
        """Return True if an expression is several texts, not one."""
        if self._goes_too_far(seen):
            return False
        match node:
            case ast.List() | ast.Tuple() | ast.ListComp():
                return True
            case ast.BinOp(left=left, right=right):
                return self._is_list(left, seen) or self._is_list(right, seen)
            case ast.Name():
                values = [value for value in self.values_of(node) if value not in seen]
                return any(self._is_list(value, seen | {value}) for value in values)
            case ast.Call(func=function):
                return last_name(function) in ("glob", "rglob", "list", "sorted")
            case _:
                return False


def last_name(function: ast.expr) -> str:
    """Return the part of a function's name after the last dot."""
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _assignments(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names that a statement assigns or appends to, with the values."""
    match node:
        case ast.Assign(targets=targets, value=value):
            yield from ((target.id, value) for target in targets if isinstance(target, ast.Name))
        case (
            ast.AugAssign(target=ast.Name(id=name), value=value)
            | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
        ):
            yield name, value
        case ast.comprehension(target=ast.Name(id=name), iter=value):
            yield name, value
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append" | "extend"), args=[value]):
            yield name, value
        case _:
            pass


def _join(parts: Sequence[Texts]) -> Texts:
    return tuple("".join(pieces) for pieces in itertools.islice(itertools.product(*parts), _MANY))


def _fill(templates: Texts, blank: str, values: Sequence[Texts]) -> Texts:
    """Return every text of a template whose blanks the values fill, in order; empty if their numbers differ."""
    pieces = [piece for text in templates[:1] for piece in text.split(blank)]
    pairs = itertools.zip_longest(((piece,) for piece in pieces), values, fillvalue=("",))
    return _join([texts for pair in pairs for texts in pair]) if len(pieces) == len(values) + 1 else ()


def _path(parts: Sequence[Texts]) -> Texts:
    """Return every path of the parts; computed parts at the beginning most likely name the script's own folder."""
    known = list(itertools.dropwhile(lambda texts: not texts, parts))
    if not known:
        return ()
    return tuple("/".join(pieces).lstrip("/") for pieces in itertools.islice(itertools.product(*known), _MANY))


SETUP: Final = "setup.py"
_VERSION_TOOLS: Final = ("setup_requires", "use_scm_version", "pbr")
"""Arguments of ``setup()`` with which a plugin may compute the version."""

_OPPOSITE: Final = {"0": "1", "FALSE": "TRUE", "False": "True", "false": "true", "OFF": "ON", "NO": "YES"}


@dataclass(frozen=True, kw_only=True)
class ExtensionCall:
    """Extension that ``setup.py`` declares."""

    kinds: frozenset[str]
    """``CUDAExtension``; several if a condition decides."""
    modules: Texts
    """Possible names; none if they are computed."""
    sources: Texts
    """Files and patterns, without computed ones."""
    libraries: Texts
    """Libraries that it may link to."""
    limited: bool
    """True if it keeps to Python's stable ABI."""
    function: str
    """Function that declares it; empty at module level."""
    line: int


@dataclass(frozen=True, kw_only=True)
class VariableRead:
    """Environment variable that ``setup.py`` reads."""

    name: str
    default: str
    switch: str
    """Value that switches it on: the one it is compared with, or the opposite of its default."""
    line: int


class SetupScript(Script):
    """Script of a source; an empty one declares nothing."""

    @classmethod
    def read(cls, tree: SourceTree, folder: str = "") -> SetupScript:
        """Read the script of a source; `folder` is that of `Facts`."""
        return cls(tree.content(folder + SETUP), folder + SETUP)

    def argument(self, name: str) -> Texts:
        """Return the plain texts given to an argument of ``setup()``."""
        return tuple(text for value in self._given(name) for text in self.texts(value))

    def _given(self, name: str) -> Iterator[ast.expr]:
        return (keyword.value for keyword in self._setup_keywords if keyword.arg == name)

    @property
    def _setup_keywords(self) -> list[ast.keyword]:
        return [keyword for call in self.calls if last_name(call.func) == "setup" for keyword in call.keywords]

    @property
    def default_version(self) -> str | None:
        """Version that setuptools takes if ``setup()`` is given none; None if something else may give one."""
        names = {keyword.arg for keyword in self._setup_keywords}  # None stands for **keywords
        return "0.0.0" if names.isdisjoint({"version", None, *_VERSION_TOOLS}) and "name" in names else None

    @property
    def packages(self) -> Texts:
        """Packages that ``setup()`` lists; empty if it finds them."""
        finds = any(last_name(call.func) in ("find_packages", "find_namespace_packages") for call in self.calls)
        return () if finds else self.argument("packages")

    @property
    def extension_line(self) -> int | None:
        """First line that declares an extension, understood or not; None if there is none."""
        lines = [each.line for each in self.extensions]
        lines += [value.lineno for value in self._given("ext_modules") if not self._is_empty(value)]
        lines += [line for text, line in self.texts_with("ext_modules") if text == "ext_modules"]  # for setup(**those)
        return next(iter(lines), None)

    def _is_empty(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Name):
            values = self.values_of(node)
            return bool(values) and all(isinstance(value, ast.List) and not value.elts for value in values)
        return isinstance(node, ast.List) and not node.elts

    @functools.cached_property
    def extensions(self) -> tuple[ExtensionCall, ...]:
        """Declared extensions, in the order of their lines."""
        extensions = []
        package = "".join(f"{name}." for name in self.argument("ext_package")[:1])
        for call in self.calls:
            if kinds := frozenset(self._kinds(call.func)):
                given = dict(zip(("name", "sources"), call.args, strict=False))
                given |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
                limited = given.get("py_limited_api")
                extensions.append(
                    ExtensionCall(
                        kinds=kinds,
                        modules=tuple(package + name for name in self.texts(given.get("name"))),
                        sources=self.texts(given.get("sources")),
                        libraries=self.texts(given.get("libraries")),
                        limited=isinstance(limited, ast.Constant) and limited.value is True,
                        function=getattr(self._scope_of(call), "name", ""),
                        line=call.lineno,
                    )
                )
        return tuple(sorted(extensions, key=lambda each: each.line))

    @functools.cached_property
    def variables(self) -> tuple[VariableRead, ...]:
        """Environment variables that the script reads, each once."""
        by_name: dict[str, VariableRead] = {}
        for node, key, default in self._readings():
            (fallback,) = self.texts(default)[:1] or ("",)
            compared = self._compared_text(node)
            switch = _OPPOSITE.get(compared or fallback, compared or "1")
            for name in self.texts(key):
                if name not in by_name or switch.lower() == "cuda":
                    by_name[name] = VariableRead(name=name, default=fallback, switch=switch, line=node.lineno)
        return tuple(by_name.values())

    @functools.cached_property
    def imports(self) -> dict[str, int]:
        """Third-party modules that the script imports unconditionally, or torch, by top-level name, with lines."""
        return self._imported(conditional=False)

    @property
    def conditional_imports(self) -> dict[str, int]:
        """Third-party modules that the script may import, beside `imports`."""
        return {name: line for name, line in self._imported(conditional=True).items() if name not in self.imports}

    def _imported(self, *, conditional: bool) -> dict[str, int]:
        lines: dict[str, int] = {}
        for node in self.nodes:
            match node:
                case ast.Import(names=aliases):
                    names = [alias.name for alias in aliases]
                case ast.ImportFrom(module=str(module), level=0):
                    names = [module]
                case _:
                    continue
            for name in (name.partition(".")[0] for name in names):
                wanted = name == "torch" or self._is_conditional(node) is conditional
                if wanted and name not in sys.stdlib_module_names:
                    lines.setdefault(name, node.lineno)
        return lines

    def texts_with(self, *words: str) -> Iterator[tuple[str, int]]:
        """Yield texts that contain one of some words, with their lines; skip unused texts, which are comments."""
        for node in self.nodes:
            match node:
                case ast.Constant(value=str(text)) if any(word in text for word in words):
                    if not isinstance(self.above.get(node), ast.Expr):
                        yield text, node.lineno

    def _kinds(self, function: ast.expr) -> Iterator[str]:
        name = last_name(function)
        if name.endswith("Extension") and name != "BuildExtension":
            yield name
        elif isinstance(function, ast.Name):
            for value in self.values_of(function):
                leaves = (last_name(leaf) for leaf in ast.walk(value) if isinstance(leaf, ast.Name | ast.Attribute))
                yield from (leaf for leaf in leaves if leaf.endswith("Extension") and leaf != "BuildExtension")

    def _readings(self) -> Iterator[tuple[ast.expr, ast.expr, ast.expr | None]]:
        """Yield every read of an environment variable: the expression, the variable's name and its default."""
        for node in self.nodes:
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
        """Return the text that a read value is compared with; None if there is none."""
        for _ in range(4):  # int(...), .upper(), ...
            node = self.above.get(node, node)
            if isinstance(node, ast.Compare):
                literals = (text for each in node.comparators for text in self.texts(each))
                return next((text for text in literals if text), None)
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                return self._compared.get(node.targets[0].id)
        return None

    @functools.cached_property
    def _compared(self) -> dict[str, str]:
        """Texts that names are compared with, ``cuda`` before others."""
        compared: dict[str, str] = {}
        for leaves in ([*ast.walk(node)] for node in self.nodes if isinstance(node, ast.Compare)):
            texts = [leaf.value for leaf in leaves if isinstance(leaf, ast.Constant) and isinstance(leaf.value, str)]
            for text in sorted(texts, key=lambda text: text.lower() != "cuda")[:1]:
                names = {leaf.id for leaf in leaves if isinstance(leaf, ast.Name)}
                compared |= {name: text for name in names if name not in compared or text.lower() == "cuda"}
        return compared

    def _is_conditional(self, node: ast.AST) -> bool:
        while (above := self.above.get(node)) is not None:
            match above:
                case ast.If(test=ast.Compare(left=ast.Name(id="__name__"))) | ast.Try(handlers=[]):
                    pass
                case ast.If() | ast.Try():
                    return True
                case _:
                    pass
            node = above
        return False


def _is_environ(node: ast.expr) -> bool:
    return last_name(node) == "environ"
