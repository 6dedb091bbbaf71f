"""What the expressions of a Python script may be, as far as they are plain text; nothing of it is run."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from wheelmill.errors import UsageError

_DEEP: Final = 25
"""How many expressions one leads through."""
_MANY: Final = 2_000
"""Texts that one expression may be."""
_STEPS: Final = 200_000
"""Expressions that are looked at in all; real scripts take some thousands."""

_SAME: Final = ("abspath", "str", "Path", "normpath", "relpath", "fspath", "realpath", "list", "sorted", "tuple")
"""Calls that give what they are given, as far as it is text."""

Texts = tuple[str, ...]
Scope = ast.AST | None


class Script:
    """The syntax tree of a script, whose names are followed to what is assigned to them."""

    def __init__(self, content: bytes, origin: str) -> None:
        """Read a script.

        Raises:
            UsageError: it is no Python.
        """
        try:
            tree = ast.parse(content)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise UsageError(
                "setup-script-invalid", f"{origin} is not valid Python: {str(error) or 'it is nested too deeply'}"
            ) from None
        self.nodes = tuple(ast.walk(tree))
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
        for call in self.calls:
            if isinstance(call.func, ast.Name) and (called := functions.get(call.func.id)):
                names = [argument.arg for argument in called.args.args]
                self._bind(called, zip(names, call.args, strict=False))
                self._bind(called, ((keyword.arg or "", keyword.value) for keyword in call.keywords))

    def texts(self, node: ast.expr | None) -> Texts:
        """Every text that an expression may be, or may hold; none where it is computed."""
        return tuple(dict.fromkeys(self._texts(node, frozenset())))

    def values_of(self, name: ast.Name) -> list[ast.expr]:
        """The expressions that are assigned to a name, where it stands."""
        scope: Scope = name
        while scope is not None:
            scope = self._scope_of(scope)
            if found := self._assigned.get((scope, name.id)):
                return found
        return []

    def _scope_of(self, node: ast.AST) -> Scope:
        """The function that a node is in; None for none."""
        while (node := self.above.get(node)) is not None and not isinstance(node, ast.FunctionDef):  # type: ignore[assignment]
            pass
        return node

    def _bind(self, scope: Scope, values: Iterable[tuple[str, ast.expr]]) -> None:
        """Note what names stand for in a function, which its parameters do by its defaults and its calls."""
        for name, value in values:
            self._assigned.setdefault((scope, name), []).append(value)

    def _goes_too_far(self, seen: frozenset[ast.AST]) -> bool:
        """Whether an expression leads too far, or all of them took too many steps."""
        self._steps += 1
        return len(seen) > _DEEP or self._steps > _STEPS

    def _texts(self, node: ast.expr | None, seen: frozenset[ast.AST]) -> Texts:
        if node is None or node in seen or self._goes_too_far(seen):
            return ()
        inside = seen | {node}
        match node:
            case ast.Constant(value=str(text)):
                found: Texts = (text,)
            case ast.JoinedStr(values=parts):
                found = _join([self._texts(part, inside) for part in parts])
            case ast.BinOp(left=left, right=right, op=ast.Add()) if not self._is_list(node, inside):
                found = _join([self._texts(left, inside), self._texts(right, inside)])
            case ast.BinOp(left=left, right=right, op=ast.Div()):
                found = _path([self._texts(left, inside), self._texts(right, inside)])
            case ast.Call():
                found = self._texts_of_call(node, inside)
            case _:
                found = tuple(text for each in self._alternatives(node) for text in self._texts(each, inside))
        return found

    def _alternatives(self, node: ast.expr) -> Sequence[ast.expr]:
        """The expressions that one stands for: what it holds, or may be."""
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
                pieces = [piece for text in self._texts(owner, seen)[:1] for piece in text.split("{}")]
                pairs = itertools.zip_longest(((piece,) for piece in pieces), given, fillvalue=("",))
                return _join([each for pair in pairs for each in pair]) if len(pieces) == len(given) + 1 else ()
            case "get" | "getenv", [_, default]:
                return default
            case name, [first, *_] if name in _SAME:
                return first
        return ()

    def _is_list(self, node: ast.expr, seen: frozenset[ast.AST]) -> bool:
        """Whether an expression is several texts, not one."""
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
    """What a function is called behind the last dot."""
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _assignments(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """What a statement assigns to names, or adds to lists."""
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
    """Every text that parts make when they are put together."""
    return tuple("".join(pieces) for pieces in itertools.islice(itertools.product(*parts), _MANY))


def _path(parts: Sequence[Texts]) -> Texts:
    """Every path of parts; of those at the beginning that are computed, the folder of the script is the most likely."""
    known = list(itertools.dropwhile(lambda texts: not texts, parts))
    return (
        tuple("/".join(pieces).lstrip("/") for pieces in itertools.islice(itertools.product(*known), _MANY))
        if known
        else ()
    )
