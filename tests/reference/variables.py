"""The environment variables that wheelmill reads: those that its source asks for, and those of its options."""

import ast
import importlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tests.commands import ROOT
from tests.reference.described import options_of_all
from tests.source_code import modules

SOURCE = ROOT / "src"
DOCUMENTS = ROOT / "docs" / "conf.py"
COMPILERS = ROOT / "docker" / "through-ccache.sh"

AS_A_WHOLE: Mapping[str, set[str]] = {
    "wheelmill/build/docker.py": {"DOCKER_*"},
    "wheelmill/cli/factory/hosting.py": set(),  # `Repository.parse` asks for those that it wants
    "wheelmill/cli/factory/index.py": set(),
    "wheelmill/cli/factory/inputs.py": set(),
    "wheelmill/client/environment/detect.py": set(),  # for uv
    "wheelmill/installers/index_settings.py": {"PIP_*", "UV_*"},
    "wheelmill/installers/uv.py": {"PIP_*", "UV_*"},
    "wheelmill/system/process.py": set(),  # what foreign code sees
    "wheelmill/web/credentials.py": {"WHEELMILL_TOKEN_*", "UV_INDEX_*", "POETRY_HTTP_BASIC_*"},
}
"""The files that take all variables at once, and which of these they mean, or none where a program gets a copy."""

BY_LIBRARIES = {
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),  # httpx
    *("AWS_*", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"),  # botocore, platformdirs
    *("NO_COLOR", "COLUMNS"),  # rich
    "PATH",  # shutil
}
"""What libraries read for us, and people set for wheelmill, too."""


def variables_read() -> set[str]:
    """All that are read."""
    found = {option.envvar for option in options_of_all() if isinstance(option.envvar, str)}
    for path, tree in {**modules(), DOCUMENTS: ast.parse(DOCUMENTS.read_text())}.items():
        where = path.relative_to(SOURCE if path.is_relative_to(SOURCE) else ROOT).as_posix()
        visitor = _Reads(where)
        visitor.visit(tree)
        found |= visitor.found | AS_A_WHOLE.get(where, set())
    return found | BY_LIBRARIES


def variables_named() -> set[str]:
    """Our own that any file names which runs, but for those that builds set for their compilers."""
    folders = [ROOT / name for name in (".github", "docker", "scripts", "src")]
    paths = [DOCUMENTS, *(path for folder in folders for path in folder.rglob("*") if path.suffix != ".pyc")]
    texts = [path.read_text(errors="replace") for path in paths if path.is_file()]
    return {name for text in texts for name in _names_in(text)} - _names_in(COMPILERS.read_text())


def _names_in(text: str) -> set[str]:
    return {*re.findall(r"\bWHEELMILL_[A-Z_]+\b", text)}


class _Reads(ast.NodeVisitor):
    """What one file asks for; a name in a variable is worked out with the values of the module, and of loops."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.found: set[str] = set()
        self._loops: list[tuple[ast.expr, ast.expr]] = []

    def _inside(self, loops: list[tuple[ast.expr, ast.expr]], node: ast.AST) -> None:
        self._loops += loops
        self.generic_visit(node)
        del self._loops[-len(loops) :]

    def visit(self, node: ast.AST) -> Any:
        """Find what asks for a variable."""
        match node:
            case ast.For(target=target, iter=values):
                return self._inside([(target, values)], node)
            case ast.GeneratorExp() | ast.DictComp() | ast.ListComp() | ast.SetComp():
                return self._inside([(each.target, each.iter) for each in node.generators], node)
            case ast.Call(func=ast.Attribute(value=owner, attr="get"), args=[name, *_]) if _is_environment(owner):
                self.found |= set(self._values(name))
                return None
            case ast.Subscript(value=owner, slice=name) if _is_environment(owner):
                if isinstance(node.ctx, ast.Load):
                    self.found |= set(self._values(name))
                return None
            case ast.Compare(left=name, comparators=[owner]) if _is_environment(owner):
                self.found |= set(self._values(name))
                return None
            case ast.Attribute(value=ast.Name(id="os"), attr="environ" | "environb"):
                assert self.where in AS_A_WHOLE, f"{self.where} takes all variables: say in AS_A_WHOLE which it means"
            case _:
                pass
        return super().visit(node)

    def _values(self, name: ast.expr) -> Iterator[str]:
        if isinstance(name, ast.Constant):
            yield str(name.value)
            return
        module = vars(
            importlib.import_module(self.where.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
        )
        for target, values in self._loops:
            if isinstance(target, ast.Name) and any(each.id == target.id for each in _names(name)):
                for value in _evaluated(values, module):
                    yield _evaluated(name, {**module, target.id: value})
                return
        yield _evaluated(name, module)


def _names(node: ast.expr) -> Iterator[ast.Name]:
    return (each for each in ast.walk(node) if isinstance(each, ast.Name))


def _evaluated(node: ast.expr, names: Mapping[str, Any]) -> Any:
    return eval(compile(ast.Expression(node), "<source>", "eval"), dict(names))  # noqa: S307 - our own source


def _is_environment(node: ast.expr) -> bool:
    return ast.unparse(node) in {"os.environ", "environment"}
