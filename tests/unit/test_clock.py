"""No function takes the day, chance or the environment by itself: who calls it gives them."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

import pytest

from tests.source_code import modules, nodes

WEATHER = frozenset({"time", "datetime", "dt", "random", "secrets", "uuid", "environ", "getenv", "urandom"})
"""Modules and functions whose answers differ from one day, machine or call to the next."""
Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def words_in(node: ast.AST) -> set[str]:
    """The names in an expression."""
    own = {node.id} if isinstance(node, ast.Name) else {node.attr} if isinstance(node, ast.Attribute) else set()
    return own.union(*map(words_in, ast.iter_child_nodes(node)))


def constants_of_weather(trees: Iterable[ast.Module]) -> frozenset[str]:
    """The constants that are made of a clock, chance or the environment, by name; those that are made of these, too."""
    made = {
        target.id: words_in(value)
        for tree in trees
        for statement in tree.body
        for target, value in _assigned(statement)
        if isinstance(target, ast.Name) and isinstance(value, ast.Call)
    }
    found = WEATHER
    while more := {name for name, words in made.items() if words & found} - found:
        found |= more
    return found - WEATHER


def _assigned(statement: ast.stmt) -> Iterator[tuple[ast.expr, ast.expr]]:
    if isinstance(statement, ast.Assign):
        yield from ((target, statement.value) for target in statement.targets)
    elif isinstance(statement, ast.AnnAssign) and statement.value:
        yield statement.target, statement.value


def defaults_of_weather(node: ast.AST, words: frozenset[str]) -> Iterator[str]:
    """Defaults of a function or class that read a clock, chance or the environment, now or in the function's body."""
    if isinstance(node, ast.ClassDef):
        values: Iterable[ast.expr | None] = (each.value for each in node.body if isinstance(each, ast.AnnAssign))
    elif isinstance(node, Function):
        values = chain(_defaults(node).values(), _instead_of_none(node))
    else:
        return
    yield from (f"{value.lineno}: {ast.unparse(value)}" for value in values if value and words_in(value) & words)


def _defaults(function: Function) -> Mapping[str, ast.expr | None]:
    places = [*function.args.posonlyargs, *function.args.args]
    last = places[len(places) - len(function.args.defaults) :]
    named = zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
    return {each.arg: default for each, default in (*zip(last, function.args.defaults, strict=True), *named)}


def _instead_of_none(function: Function) -> Iterator[ast.expr]:
    """What stands for a parameter that was not given: ``now or time()``, ``time() if now is None else now``."""
    defaults = _defaults(function).items()
    optional = {name for name, default in defaults if isinstance(default, ast.Constant) and not default.value}
    for node in ast.walk(function) if optional else ():
        match node:
            case ast.BoolOp(op=ast.Or(), values=[ast.Name(id=name), *others]) if name in optional:
                yield from others
            case ast.IfExp(test=ast.Compare(left=ast.Name(id=name)), body=body, orelse=other) if name in optional:
                yield from (body, other)
            case ast.If(test=ast.Compare(left=ast.Name(id=name)), body=[ast.Assign(value=value)]) if name in optional:
                yield value


def test_no_default_depends_on_the_day_on_chance_or_on_the_environment() -> None:
    constants = constants_of_weather(modules().values())
    assert {"SYSTEM_CLOCK", "ATTENDED"} <= constants
    words = WEATHER | constants
    found = [f"{path}:{default}" for path, node in nodes() for default in defaults_of_weather(node, words)]
    assert found == []


def found_in(text: str) -> list[str]:
    module = ast.parse(f"CLOCK: Final = Clock(time.time)\nRETRIES = Retries(CLOCK)\nQUIET = Progress()\n{text}\n")
    words = WEATHER | constants_of_weather([module])
    return [default for node in ast.walk(module) for default in defaults_of_weather(node, words)]


@pytest.mark.parametrize(
    "function",
    [
        *("def f(now=time.time): ...", "def f(*, sleep=time.sleep): ...", "def f(clock=CLOCK): ..."),
        *("lambda day=datetime.date.today(): day", "async def f(nonce=uuid.uuid4().hex): ..."),
        *("def f(environment=os.environ): ...", "def f(now=None):\n    return now or time.time()"),
        "def f(now=None):\n    return datetime.now(UTC) if now is None else now",
        "def f(chance=None):\n    if chance is None:\n        chance = random.random()",
        "class C:\n    clock: Clock = field(default_factory=time.time)",
        "class C:\n    retries: Retries = RETRIES",
    ],
)
def test_such_a_default_is_found(function: str) -> None:
    assert len(found_in(function)) == 1


@pytest.mark.parametrize(
    "function",
    [
        "def f(progress=QUIET): ...",
        "def f(seconds=None):\n    return time.monotonic() + seconds if seconds else None",
        "def f(now=None):\n    return now or 0",
        "class C:\n    made: dict = field(default_factory=dict)",
    ],
)
def test_other_defaults_are_not(function: str) -> None:
    assert found_in(function) == []
