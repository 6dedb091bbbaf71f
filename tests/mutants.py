"""``python -m tests.mutants`` counts one-line changes of rules that no test of the module or its folder notices."""

import argparse
import ast
import itertools
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import cache_from_source
from pathlib import Path
from queue import SimpleQueue
from typing import Final

ROOT: Final = Path(__file__).parents[1]
MODULES: Final = (
    *("client/choose/fit.py", "client/project/journal.py", "index/tree.py", "pipeline/gate.py", "plan/matrix.py"),
    *("release/publish_lease.py", "release/manifest/rules.py", "smoke/rules.py", "web/credentials.py"),
    "wheel/label.py",
)
"""Where a lost rule lets a wrong wheel through, or harms what belongs to somebody."""
FLOOR: Final = 0.92
"""How many of all mutants have to be noticed; some change nothing that can be seen."""
SECONDS: Final = 300
"""For the tests of one mutant, which may never end."""
_TURNED: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_SWAPPED: Final = {"any": "all", "all": "any", "min": "max", "max": "min"}


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One change of one module."""

    module: str
    line: int
    before: str
    after: str
    source: str
    """The whole module with the change."""

    def __str__(self) -> str:
        """Where it is, and what it changes."""
        return f"{self.module}:{self.line}: {_short(self.before)} -> {_short(self.after)}"


def mutants(module: str) -> Iterator[Mutant]:
    """All mutants of a module, in the order of its lines."""
    source = (ROOT / "src" / "wheelmill" / module).read_text()
    ends = [0]
    for line in source.encode().splitlines(keepends=True):
        ends.append(ends[-1] + len(line))
    for node, after in _changes(ast.parse(source)):
        start, end = (
            ends[node.lineno - 1] + node.col_offset,
            ends[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0),
        )
        content = source.encode()
        changed = (content[:start] + after.encode() + content[end:]).decode()
        yield Mutant(module=module, line=node.lineno, before=content[start:end].decode(), after=after, source=changed)


def _changes(tree: ast.Module) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    """Parts of a module, each with what may stand there instead."""
    waiting: list[ast.AST] = [*reversed(tree.body)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.expr | ast.stmt):
            yield from ((node, after) for after in _instead(node))
        yield from itertools.product(_conditions(node), ("True", "False"))
        if not isinstance(node, ast.JoinedStr):  # Python 3.11 does not say where the parts of an f-string stand
            waiting.extend(reversed([*_parts(node)]))


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """What is in a node, but for annotations and docstrings, which do nothing."""
    for name, value in ast.iter_fields(node):
        if name not in ("annotation", "returns", "decorator_list"):
            for each in value if isinstance(value, list) else [value]:
                is_text = isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)
                if isinstance(each, ast.AST) and not is_text:
                    yield each


def _conditions(node: ast.AST) -> list[ast.expr]:
    """Conditions of a node, which may hold always or never; that of a loop may not, for it would not end."""
    match node:
        case ast.If(test=test) | ast.IfExp(test=test) | ast.match_case(guard=ast.expr() as test):
            return [test]
        case ast.comprehension(ifs=tests):
            return tests
        case _:
            return []


def _instead(node: ast.expr | ast.stmt) -> Iterator[str]:
    """What may stand in the place of one node, each of it wrong."""
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=[right]) if type(operator) in _TURNED:
            turned = ast.Compare(left=left, ops=[_TURNED[type(operator)]()], comparators=[right])
            yield f"({ast.unparse(turned)})"
        case ast.BoolOp(op=operator, values=values):
            other = ast.Or() if isinstance(operator, ast.And) else ast.And()
            yield f"({ast.unparse(ast.BoolOp(op=other, values=values))})"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield f"({ast.unparse(operand)})"
        case ast.Call(func=ast.Name(id=name)) if name in _SWAPPED:
            yield ast.unparse(node).replace(name, _SWAPPED[name], 1)
        case ast.Constant(value=bool() as value):
            yield str(not value)
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield "return None"
        case ast.Raise() | ast.Expr(value=ast.Call() | ast.Yield() | ast.YieldFrom()):
            yield "pass"
        case _:
            pass


class Tree:
    """A copy of this checkout, in which one mutant at a time is tried."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        for name in filter(None, listed.split("\0")):
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, folder / name)

    def passes(self, module: str, source: str) -> bool:
        """Whether all tests of a module pass when this is its source."""
        path = self._folder / "src" / "wheelmill" / module
        written = path.read_text()
        self._write(path, source)
        try:
            return all(map(self._pass, tests_of(module)))
        finally:
            self._write(path, written)

    def _write(self, path: Path, source: str) -> None:
        """Write a module without its bytecode, which may be of the same size and the same second."""
        path.write_text(source)
        Path(cache_from_source(path)).unlink(missing_ok=True)

    def _pass(self, tests: Path) -> bool:
        argv = [sys.executable, "-m", "pytest", "--exitfirst", "--quiet", "-p", "no:cacheprovider", "-p", "no:xdist"]
        temporary = self._folder.with_name(f"{self._folder.name}-tmp")  # no project of the tests lies in this one
        temporary.mkdir(exist_ok=True)
        environment = os.environ | {"PYTHONPATH": str(self._folder / "src"), "TMPDIR": str(temporary)}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        try:
            done = subprocess.run(
                [*argv, tests], cwd=self._folder, env=environment, capture_output=True, check=False, timeout=SECONDS
            )
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0


def tests_of(module: str) -> list[Path]:
    """The file of tests that mirrors a module, if it has one, and the folder with its neighbours'."""
    path = Path("tests", "unit", module)
    own = path.with_name(f"test_{path.name}")
    return [*([own] if (ROOT / own).is_file() else []), path.parent]


def tried(chosen: Sequence[Mutant], jobs: int) -> Iterator[tuple[Mutant, bool]]:
    """Each mutant and whether it lives, as soon as that is known."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        trees: SimpleQueue[Tree] = SimpleQueue()
        for number in range(jobs):
            trees.put(Tree(Path(folder, str(number))))

        def lives(mutant: Mutant) -> bool:
            tree = trees.get()
            try:
                return tree.passes(mutant.module, mutant.source)
            finally:
                trees.put(tree)

        for module in dict.fromkeys(mutant.module for mutant in chosen):
            tree = trees.get()
            if not tree.passes(module, (ROOT / "src" / "wheelmill" / module).read_text()):
                sys.exit(f"{module}: its tests fail without a change")
            trees.put(tree)
        yield from zip(chosen, pool.map(lives, chosen), strict=True)


def main() -> None:
    """Try them and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*", default=MODULES, help="as in wheel/label.py; all that are listed if none")
    parser.add_argument("--sample", type=int, help="at most so many of each module, the same each time")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many are tried at once")
    given = parser.parse_args()
    chosen = []
    for module in given.modules:
        found = [*mutants(module)]
        few = given.sample is not None and len(found) > given.sample
        chosen += random.Random(module).sample(found, given.sample) if few else found  # noqa: S311 - no secret
    count, living = Counter[str](), Counter[str]()
    for mutant, lives in tried(chosen, given.jobs):
        count[mutant.module] += 1
        if lives:
            living[mutant.module] += 1
            print(f"lives: {mutant}", flush=True)
    for module, number in count.items():
        print(f"| {module} | {number} | {number - living[module]} | {1 - living[module] / number:.0%} |")
    noticed = 1 - living.total() / count.total()
    print(f"| all | {count.total()} | {count.total() - living.total()} | {noticed:.1%} |")
    if noticed < FLOOR:
        sys.exit(f"fewer than {FLOOR:.0%} are noticed")


def _short(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= 60 else f"{plain[:57]}..."


if __name__ == "__main__":
    main()
