"""The entry of ``packages.yml`` that a source asks for: every key with the line that it comes from."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from wheelmill.config.model import EVERY_BUILD_NEEDS
from wheelmill.config.pyproject import PYPROJECT
from wheelmill.config.survey.facts import Facts
from wheelmill.config.survey.licence import find_licence
from wheelmill.config.survey.source_tree import Place

_SHOWN: Final = 100
"""Characters of a description."""
_MODULES: Final = 6
"""Modules that are tried."""

_SWITCH: Final = re.compile(r"(.*_)?FORCE_(CUDA|BUILD)|.*BUILD_(.*_)?(CUDA|EXT|OPS)|WITH_CUDA|.*_WITH_(CUDA|OPS)")
_NO_SWITCH: Final = re.compile(r".*(SKIP|DISABLE|_NO_|CPU).*")
_ARCHITECTURES: Final = re.compile(r"(?!TORCH_|CMAKE_)\w*CUDA_ARCH\w*")
_FLAGS: Final = ("-gencode", "--generate-code", "-arch=", "arch=compute_")
_STABLE: Final = re.compile(r"TORCH_TARGET_VERSION\s*=\s*0x([0-9a-fA-F]{2})([0-9a-fA-F]{2})")

_DISTRIBUTIONS: Final = {"pkg_resources": "setuptools<81", "yaml": "pyyaml", "skbuild": "scikit-build"}
"""Modules whose distribution is called otherwise."""
_OF_TORCH: Final = frozenset({"cublas", "cusparse", "cusolver"})
"""Components that every torch brings: its own headers include theirs."""


@dataclass(frozen=True, kw_only=True)
class Guess:
    """One key of an entry, and why it is there."""

    key: str
    """Empty for what no key says."""
    value: object
    says: str
    """``reads FORCE_CUDA``."""
    place: Place | None = None

    def __str__(self) -> str:
        """``setup.py:41: reads FORCE_CUDA``."""
        return f"{self.place}: {self.says}" if self.place else self.says


def guess_entry(facts: Facts) -> Iterator[Guess]:
    """Guess the keys of an entry but for its versions and its source, in their order."""
    for rule in _RULES:
        yield from rule(facts)


def _description(facts: Facts) -> Iterator[Guess]:
    text = " ".join(facts.declared.summary.split())
    if text and text.isprintable() and not set("`$\\") & set(text):
        short = text if len(text) <= _SHOWN else f"{text[:_SHOWN].rpartition(' ')[0]} ..."
        yield Guess(key="description", value=short, says="its summary", place=Place(file=facts.declared.file, line=1))


def _licence(facts: Facts) -> Iterator[Guess]:
    found = find_licence(facts.declared.licences)
    if found:
        yield Guess(key="licence", value=found.expression, says=f"reads like {found.expression}", place=found.place)
    if found is None or not found.redistributable:
        why = "lets not everybody be given wheels" if found else "nothing says its licence: ask its authors"
        place = found.place if found else None
        yield Guess(key="redistributable", value=False, says=why, place=place)


def _isolation(facts: Facts) -> Iterator[Guess]:
    """With torch none, because torch's version is the target's and not what pyproject.toml says."""
    required = {_project(text): text for text in facts.pyproject.requires}
    if facts.torch is None:
        if extra := [name for name in _imported_names(facts) if _project(name) not in {*EVERY_BUILD_NEEDS, *required}]:
            yield _extra(facts, extra)
        return
    place, how = facts.torch
    yield Guess(key="build_args", value="--no-build-isolation", says=f"{how}: the target says which one", place=place)
    tools = ["ninja", *(["cmake"] if facts.build_file else []), *(["numpy"] if facts.cmake.numpy else [])]
    wanted = {_project(text): text for text in [*_imported_names(facts), *tools, *EVERY_BUILD_NEEDS]} | required
    yield _extra(facts, [*(text for name, text in wanted.items() if name != "torch"), "torch"])


def _extra(facts: Facts, requirements: list[str]) -> Guess:
    place = facts.at_word(PYPROJECT, "requires") if facts.pyproject.requires else None
    return Guess(key="extra_deps", value=requirements, says="what its build requires and imports", place=place)


def _imported_names(facts: Facts) -> list[str]:
    """Distributions that setup.py imports; its own modules are none, nor what no distribution can be called."""
    own = {name.removeprefix(facts.folder).split("/")[0].removesuffix(".py") for name in facts.tree.files}
    names = (name for name in facts.setup.imports if name not in own and name.isascii() and name.strip("_") == name)
    return [_DISTRIBUTIONS.get(name, name) for name in names]


def _project(requirement: str) -> str:
    return canonicalize_name(Requirement(requirement).name)


def _switches(facts: Facts) -> Iterator[Guess]:
    found = [v for v in facts.setup.variables if _SWITCH.fullmatch(v.name) and not _NO_SWITCH.fullmatch(v.name)]
    env = {each.name: each.switch for each in found}
    for number, each in enumerate(found):
        says = f"reads {each.name}, which {each.switch!r} switches on"
        yield Guess(key="" if number else "env", value=env, says=says, place=facts.at_setup(each.line))


def _needs(facts: Facts) -> Iterator[Guess]:
    if facts.torch is None:
        place = facts.cuda[0] if facts.cuda else None
        yield Guess(key="needs", value="cuda", says="uses CUDA and nothing of torch", place=place)
    there = _OF_TORCH if facts.torch else frozenset()
    used = {name: place for name, place in facts.native.components if name not in there}
    for number, (name, place) in enumerate(used.items()):
        yield Guess(key="" if number else "toolkit", value=[*used], says=f"includes headers of {name}", place=place)


def _abi(facts: Facts) -> Iterator[Guess]:
    limited = next((each for each in facts.extensions if each.limited), None)
    if limited:
        yield Guess(key="abi", value="abi3", says="keeps to Python's stable ABI", place=facts.at_setup(limited.line))
    for text, line in facts.setup.texts_with("TORCH_TARGET_VERSION"):
        if oldest := _STABLE.search(text):
            version = f"{int(oldest[1], 16)}.{int(oldest[2], 16)}"
            says = f"keeps to the stable ABI of torch {version}"
            yield Guess(key="torch_abi", value={"stable": version}, says=says, place=facts.at_setup(line))
            return


def _architectures(facts: Facts) -> Iterator[Guess]:
    variables = {each.name: each for each in facts.setup.variables}
    own = next((each for name, each in variables.items() if _ARCHITECTURES.fullmatch(name)), None)
    if own:
        form = "dotted" if "." in own.default else "digits"
        value = {"name": own.name, "form": form}
        says = f"reads GPU architectures from {own.name}" + (f", such as {own.default}" if own.default else "")
        yield Guess(key="arch_variable", value=value, says=says, place=facts.at_setup(own.line))
    elif "TORCH_CUDA_ARCH_LIST" in variables:
        line = variables["TORCH_CUDA_ARCH_LIST"].line
        yield Guess(key="", value=None, says="reads TORCH_CUDA_ARCH_LIST", place=facts.at_setup(line))
    elif found := next(facts.setup.texts_with(*_FLAGS), None):
        says = f"writes down GPU architectures ({found[0][:40]})"
        yield Guess(key="gencode", value="replace", says=says, place=facts.at_setup(found[1]))
    elif facts.build_file and (place := facts.cmake.own_architectures):
        yield Guess(key="gencode", value="replace", says="writes down GPU architectures", place=place)


def _standard(facts: Facts) -> Iterator[Guess]:
    if found := next(facts.setup.texts_with("-std="), None):
        says = f"asks for {found[0][:40]}, which is raised where torch's headers need more"
        yield Guess(key="", value=None, says=says, place=facts.at_setup(found[1]))


def _download(facts: Facts) -> Iterator[Guess]:
    if facts.build_file and (place := facts.cmake.download):
        says = "downloads something while it builds, which a container without a network refuses"
        yield Guess(key="", value=None, says=says, place=place)


def _imports(facts: Facts) -> Iterator[Guess]:
    modules, place, says = _modules(facts)
    before = ["torch"] if facts.torch else []
    yield Guess(key="test_import", value=[*before, *modules[:_MODULES]], says=says, place=place)


def _modules(facts: Facts) -> tuple[list[str], Place | None, str]:
    """What must be importable: modules that are declared, else that are made, else the package itself."""
    registered = facts.native.operators and not facts.native.modules
    named = ((name, each.line) for each in facts.extensions for name in each.modules)
    declared = {name: line for name, line in named if all(part.isidentifier() for part in name.split("."))}
    if declared and not registered:
        return [*declared], facts.at_setup(next(iter(declared.values()))), "the names of its extensions"
    made = facts.cmake.modules if facts.build_file else {}
    if made:
        return [*made], next(iter(made.values())), "the modules that CMake makes"
    package = _package(facts)
    why = "its extension registers operators and is no module" if registered else "no line names its extension"
    return [package], facts.native.operators, f"{why}: the package stands for it"


def _package(facts: Facts) -> str:
    """The package that is imported: the one that is called like the project, else the first with an __init__.py."""
    folders = [name.split("/")[-2] for name in facts.tree.own("/__init__.py")]
    wanted = (facts.declared.name or "").replace("-", "_").lower()
    named = next((folder for folder in folders if folder.lower() == wanted), None)
    tops = fnmatch.filter(facts.tree.own("/__init__.py"), f"{facts.folder}*/__init__.py")
    first = next((name.split("/")[-2] for name in sorted(tops, key=lambda name: name.count("/"))), wanted)
    return named or first


_RULES: Final[tuple[Callable[[Facts], Iterator[Guess]], ...]] = (
    _description,
    _licence,
    _isolation,
    _needs,
    _switches,
    _abi,
    _architectures,
    _standard,
    _download,
    _imports,
)
