"""Imports run one way; DESIGN of the house in one test."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.source_code import ROOT, nodes

LAYERS = [
    ["names", "errors"],
    ["system"],
    ["web"],
    ["installers"],
    ["wheel"],
    ["config"],
    ["plan"],
    ["build"],
    ["smoke"],
    ["release"],
    ["index"],
    ["pipeline", "conformance", "hosting", "client"],
    ["cli"],
    ["__main__", "__init__"],
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}

CLIENT_LAYERS = ["records", "environment", "sources", "choose", "variants", "install", "lock", "project", "doctor"]
"""What lies beside the packages belongs to records."""

STAGES = {
    "config": "config.model",
    "plan": "plan.targets",
    "build": "build.provenance",
    "smoke": "smoke.verdict",
    "release": "release.manifest",
    "index": "index.tree",
}
"""For each the module or package with the records that the stages after it may import."""


@cache
def imports() -> tuple[tuple[Path, str], ...]:
    """Every import of the package by the package, those under TYPE_CHECKING and in functions too."""
    return tuple((path, module) for path, node in nodes() for module in imports_by(node))


def imports_by(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "wheelmill":
        for alias in node.names:
            submodule = f"{node.module}.{alias.name}"
            yield submodule if is_module(submodule) else node.module


@cache
def is_module(dotted: str) -> bool:
    path = ROOT.parent.joinpath(*dotted.split("."))
    return path.is_dir() or path.with_suffix(".py").exists()


def part_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def test_every_module_has_a_layer() -> None:
    assert {part_of(path) for path in ROOT.rglob("*.py")} == set(LEVEL)


def test_imports_run_one_way() -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {module}"
        for path, module in imports()
        if (imported := module.split(".")[1]) != part_of(path) and LEVEL[imported] > LEVEL[part_of(path)]
    ]
    assert wrong == []


def test_a_stage_knows_only_the_records_of_earlier_stages() -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {module}"
        for path, module in imports()
        if part_of(path) in STAGES
        and (imported := module.split(".")[1]) in STAGES
        and imported != part_of(path)
        and not f"{module}.".startswith(f"wheelmill.{STAGES[imported]}.")
    ]
    assert wrong == []


def test_imports_run_one_way_inside_the_client() -> None:
    packages = set(CLIENT_LAYERS)

    def level_of(module: str) -> int:
        package = module.split(".")[2]
        return CLIENT_LAYERS.index(package if package in packages else "records")

    wrong = [
        f"{path.relative_to(ROOT)} imports {module}"
        for path, module in imports()
        if part_of(path) == "client"
        and module.startswith("wheelmill.client.")
        and level_of(module) > level_of(".".join(("wheelmill", *path.relative_to(ROOT).parts)))
    ]
    folders = {path.name for path in (ROOT / "client").iterdir() if (path / "__init__.py").exists()}
    assert folders == packages - {"records"}
    assert wrong == []


def test_commands_of_the_client_and_of_the_factory_share_only_what_lies_in_shared() -> None:
    sides = {"client", "factory", "shared"}
    wrong = [
        f"{path.relative_to(ROOT)} imports {module}"
        for path, module in imports()
        if part_of(path) == "cli" and path.parent.name in sides
        if module.startswith("wheelmill.cli.") and module.split(".")[2] not in {path.parent.name, "shared"}
    ]
    assert wrong == []


def test_no_circles_inside_a_layer() -> None:
    graph: dict[str, set[str]] = {}
    for path, module in imports():
        own = "wheelmill." + ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        graph.setdefault(own, set()).add(module)

    def reaches(start: str, goal: str, seen: set[str]) -> bool:
        for following in graph.get(start, set()) - seen:
            seen.add(following)
            if following == goal or reaches(following, goal, seen):
                return True
        return False

    assert [module for module in graph if reaches(module, module, set())] == []


def test_files_are_of_one_idea() -> None:
    long = [f"{path}: {lines}" for path in ROOT.rglob("*.py") if (lines := path.read_text().count("\n")) > 550]
    assert long == []
