"""The ``packages.yml`` entry for a source, with the source line behind every key."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Final, get_args

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from wheelmill.config.fields import Unquoted
from wheelmill.config.model.package import EVERY_BUILD_NEEDS, Packages
from wheelmill.config.model.package_fields import Component
from wheelmill.config.pyproject import PYPROJECT
from wheelmill.config.survey.facts import (
    CMAKE_ARCHITECTURES,
    CMAKE_DOWNLOAD,
    CMAKE_NATIVE,
    CMAKE_NUMPY,
    Declared,
    Facts,
)
from wheelmill.config.survey.licences import find_licence, is_redistributable, unknown_licence
from wheelmill.config.survey.scripts import SETUP, last_name
from wheelmill.config.survey.sources import SourceOrigin, fetch_origin, released
from wheelmill.config.survey.tree import CUDA, SourcePlace
from wheelmill.config.yaml import validate
from wheelmill.errors import UsageError
from wheelmill.names import ProjectName, is_named_after, project_name, project_version
from wheelmill.system.folders import temporary_folder
from wheelmill.system.git import files_of_checkout, versions_of_tag
from wheelmill.wheel.metadata import reservation

_COMPILED_AT_USE: Final = (
    (
        re.compile(r"\bcpp_extension\b.{0,200}\bload(_inline)?\b|\bload(_inline)?\s*\(\s*name\s*="),
        "compiles at first use",
    ),
    (re.compile(r"^[ \t]*(?:import|from) triton\b", re.MULTILINE), "its kernels are Triton's, compiled at first use"),
    (re.compile(r"\bRawKernel\b|\bnumba\.cuda\b|\bfrom numba import cuda\b"), "compiles at first use"),
)


def check_needs_build(name: str, facts: Facts) -> None:
    """Raise UsageError unless the source has GPU code that must be compiled before use."""
    paths = (path.rpartition("/") for path in facts.tree.files)
    projects = sorted(folder for folder, _, file in paths if file in (PYPROJECT, SETUP))
    if facts.folder.rstrip("/") not in projects:
        hint = f"name the folder that is built, such as --subdirectory {projects[0]}" if any(projects[:1]) else None
        raise UsageError("source-incomplete", f"the source of {name} has no {PYPROJECT} and no {SETUP}", hint=hint)
    if missing := facts.missing:
        place, path = missing
        urls = [url for url in facts.declared.urls if url.startswith("https://")]
        hint = f"build it from git: wheelmill config add {urls[0].rstrip('/')}.git" if urls else "build it from git"
        raise UsageError("source-incomplete", f"the source of {name} lacks {path}, which {place} names", hint=hint)
    line = facts.setup.extension_line
    if not (line or facts.build_file):
        others = next(iter(facts.tree.own(*CUDA)), None)
        raise UsageError(
            "no-build-needed",
            f"{name} needs no build: {_why_not_compiled(facts)}",
            hint=f"if its build compiles {others}, write the entry" if others else "any installer takes its own wheel",
        )
    has_submodules = ".gitmodules" in facts.tree.files  # a submodule may have GPU code
    if facts.cuda is None and not has_submodules:
        place = facts.at_setup(line) if line else facts.at_word(facts.build_file or "", "project")
        raise UsageError(
            "no-build-needed",
            f"{name} needs no build: it has no GPU code; {place} compiles for the CPU alone",
            hint="its own wheels do not depend on CUDA",
        )


def _why_not_compiled(facts: Facts) -> str:
    if binaries := sorted(name for name in facts.tree.files if name.endswith(".so")):
        return f"its source holds what is compiled already ({binaries[0]})"
    for pattern, why in _COMPILED_AT_USE:
        if use := next(facts.search_package(_package(facts), pattern), None):
            return f"{why} ({use[0]})"
    if facts.folder + SETUP in facts.tree.files:
        return f"{facts.at_word(SETUP, 'setup(')} declares no extension"
    return f"{facts.at_word(PYPROJECT, 'build-backend')} names nothing that it compiles"


_SHOWN: Final = 100
"""Characters of a description."""
_MODULES: Final = 6
"""Maximum number of modules to import."""

_SWITCH: Final = re.compile(
    r"(.*_)?FORCE_(CUDA|BUILD)|.*BUILD_(.*_)?(CUDA|EXT(ENSIONS?)?|OPS)|WITH_CUDA|.*_WITH_(CUDA|OPS)"
)
_NO_SWITCH: Final = re.compile(r".*(SKIP|DISABLE|_NO_|CPU).*")
_OTHER: Final = re.compile(r"(?!\w*(HOME|PATH|ROOT|DIR|CXX|CC|MAX_JOBS|PREFIX|ARCH\w*)$)\w+", re.ASCII)
"""Variables beside those of the machine and of every build."""
_ARCHITECTURES: Final = re.compile(r"(?!TORCH_|CMAKE_)\w*CUDA_ARCH\w*")
_FLAGS: Final = ("-gencode", "--generate-code", "-arch=", "arch=compute_")
_MACRO: Final = re.compile(r"([A-Z][A-Z0-9]*_[A-Z0-9_]+)?")
"""Name of a module that the preprocessor computes, such as ``TORCH_EXTENSION_NAME``."""
_STABLE: Final = re.compile(r"TORCH_TARGET_VERSION\s*=\s*0x([0-9a-fA-F]{2})([0-9a-fA-F]{2})")

_DISTRIBUTIONS: Final = {
    "pkg_resources": "setuptools<81",
    "yaml": "pyyaml",
    "skbuild": "scikit-build",
    "PIL": "pillow",
    "cv2": "opencv-python-headless",
    "sklearn": "scikit-learn",
    "skimage": "scikit-image",
}
"""Distributions of modules with another name: none of them need be installed here, to say so itself."""
_OF_TORCH: Final = frozenset({"cublas", "cusparse", "cusolver"})
"""Components that torch brings: its own headers include theirs."""
_COMMON: Final = re.compile(r"torch.*|c10.*|cuda.*|dl|m|rt|pthread|stdc\+\+|gomp")
"""Libraries of torch, any toolkit and any system."""
_OTHER_GPUS: Final = re.compile(r"(.*_)?(rocm|hip|xpu|sycl|opencl|mps|musa|npu)(_.*|$)", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Guess:
    """One key of an entry, and the reason for it."""

    key: str = ""
    """Empty for a note."""
    value: object = None
    says: str
    """``reads FORCE_CUDA``."""
    place: SourcePlace | None = None

    def __str__(self) -> str:
        """Format as ``setup.py:41: reads FORCE_CUDA``."""
        return f"{self.place}: {self.says}" if self.place else self.says


def guess_entry(facts: Facts) -> Iterator[Guess]:
    """Guess the keys of an entry in their order, except its versions and its source."""
    for rule in _RULES:
        yield from rule(facts)


def _description(facts: Facts) -> Iterator[Guess]:
    text = " ".join(facts.declared.summary.split())
    if text and text.isprintable() and not set("`$\\") & set(text):
        short = text if len(text) <= _SHOWN else f"{text[:_SHOWN].rpartition(' ')[0]} ..."
        place = facts.tree.place_of(facts.declared.file, short.removesuffix(" ..."))
        yield Guess(key="description", value=short, says="its summary", place=place)


def _licence(facts: Facts) -> Iterator[Guess]:
    licence = find_licence(facts.declared.licences)
    if licence:
        beginning = facts.tree.place_of(licence.place.file, licence.text.strip().split("\n")[0])
        yield Guess(key="licence", value=licence.expression, says=f"reads like {licence.expression}", place=beginning)
    if licence is None or not is_redistributable(licence.expression):
        place, text = (licence.place, "") if licence else unknown_licence(facts.declared.licences)
        why = "does not let wheels be given to others" if licence else "no licence is declared: ask its authors"
        why = f"says {text!r}, which is no one licence that is known: read it" if text else why
        yield Guess(key="redistributable", value=False, says=why, place=place)


def _isolation(facts: Facts) -> Iterator[Guess]:
    """Guess build isolation: none with torch, whose version comes from the target and not from pyproject.toml."""
    required = {_project(text): text for text in facts.pyproject.requires}
    if facts.torch is None:
        if extra := [text for text in _setup_needs(facts) if _project(text) not in {*EVERY_BUILD_NEEDS, *required}]:
            yield _extra(facts, extra)
        return
    place, how = facts.torch
    yield Guess(key="build_args", value="--no-build-isolation", says=f"{how}: the target says which one", place=place)
    tools = ["ninja", *(["cmake"] if facts.build_file else []), *(["numpy"] if facts.cmake.first(CMAKE_NUMPY) else [])]
    wanted = {_project(text): text for text in [*_setup_needs(facts), *tools, *EVERY_BUILD_NEEDS]} | required
    yield _extra(facts, [*(text for name, text in wanted.items() if name != "torch"), "torch"])


def _extra(facts: Facts, requirements: list[str]) -> Guess:
    place = facts.at_word(SETUP, "setup_requires") if facts.setup_requires else None
    if facts.pyproject.requires:
        place = facts.at_word(PYPROJECT, "requires")
    return Guess(key="extra_deps", value=requirements, says="what its build requires and imports", place=place)


def _setup_needs(facts: Facts) -> list[str]:
    """Return what setup.py imports and requires, without the source's own modules and impossible project names."""
    own = _own_modules(facts)
    names = (name for name in facts.setup.imports if name not in own and name.isascii() and name.strip("_") == name)
    return [*(_DISTRIBUTIONS.get(name, name) for name in names), *facts.setup_requires]


def _own_modules(facts: Facts) -> set[str]:
    """Return the source's modules, also those in a folder that setup.py puts on sys.path."""
    own = {name.removeprefix(facts.folder).split("/")[0].removesuffix(".py") for name in facts.tree.files}
    return own | {name.split("/")[-2] for name in facts.tree.files if name.endswith("/__init__.py")}


def _conditional(facts: Facts) -> Iterator[Guess]:
    required = {*EVERY_BUILD_NEEDS, *map(_project, facts.pyproject.requires), *map(_project, facts.setup_requires)}
    known = _own_modules(facts) | required | {"torch", "ninja", "nvidia"}
    for name, line in facts.setup.conditional_imports.items():
        if name not in known:
            yield Guess(says=f"may import {name}: add it to extra_deps if it does", place=facts.at_setup(line))


def _project(requirement: str) -> str:
    return canonicalize_name(Requirement(requirement).name)


def _switches(facts: Facts) -> Iterator[Guess]:
    switches = [
        read
        for read in facts.setup.variables
        if (_SWITCH.fullmatch(read.name) or read.switch.lower() == "cuda") and not _NO_SWITCH.fullmatch(read.name)
    ]
    env = {read.name: read.switch for read in switches}
    for number, variable in enumerate(switches):
        says = f"reads {variable.name}, which {variable.switch!r} switches on"
        yield Guess(key="" if number else "env", value=env, says=says, place=facts.at_setup(variable.line))
    if facts.build_file and (place := facts.cmake.first(CMAKE_NATIVE)):
        # CMake reads CUDAARCHS only after the source saw no CMAKE_CUDA_ARCHITECTURES and chose its own.
        env["CMAKE_ARGS"] = "-DCMAKE_CUDA_ARCHITECTURES={architectures:cmake}"
        yield Guess(key="env", value=env, says="compiles for the GPU of the machine that builds", place=place)
    for place, name in facts.cmake.switches if facts.build_file else ():
        says = f"has an option {name} that is off, which env: {{CMAKE_ARGS: -D{name}=ON}} switches on"
        yield Guess(says=says, place=place)
    calls = (call for call in facts.setup.calls if last_name(call.func) == "is_available")
    if not switches and (asks := next(calls, None)):
        says = "asks torch for a GPU, and is given one for each architecture (gpu_probe)"
        yield Guess(says=says, place=facts.at_setup(asks.lineno))
    others = [v for v in facts.setup.variables if v.name not in env and _OTHER.fullmatch(v.name)]
    if others:
        names = ", ".join(each.name for each in others[:_MODULES])
        yield Guess(says=f"also reads {names}: see whether env needs one", place=facts.at_setup(others[0].line))


def _needs(facts: Facts) -> Iterator[Guess]:
    linked = {name: facts.at_setup(each.line) for each in facts.setup.extensions for name in each.libraries}
    if facts.torch is None:
        place = facts.cuda[0] if facts.cuda else None
        says = "uses CUDA and nothing of torch" if place else "nothing of torch was seen; a submodule may have GPU code"
        yield Guess(key="needs", value=["cuda", "nvrtc"] if "nvrtc" in linked else "cuda", says=says, place=place)
    elif place := facts.gpu_question_of(_package(facts)):
        says = "asks torch for a GPU on import, which needs a driver"
        yield Guess(key="needs", value="driver", says=says, place=place)
    there = _OF_TORCH if facts.torch else frozenset()
    if "cuda" in linked:
        yield Guess(key="import_needs", value="driver", says="links to the driver", place=linked["cuda"])
    used = {name: (place, "includes headers of") for name, place in facts.native.components if name not in there}
    parts = {*get_args(Component)} - there - used.keys()
    used |= {name: (place, "links to") for name, place in linked.items() if name in parts}
    for number, (name, (place, how)) in enumerate(used.items()):
        yield Guess(key="" if number else "toolkit", value=[*used], says=f"{how} {name}", place=place)
    for name in [name for name in linked if name not in get_args(Component) and not _COMMON.fullmatch(name)]:
        yield Guess(says=f"may link to {name}: see system_packages if no source has it", place=linked[name])


def _abi(facts: Facts) -> Iterator[Guess]:
    limited = next((each for each in facts.setup.extensions if each.limited), None)
    if limited:
        yield Guess(key="abi", value="abi3", says="keeps to Python's stable ABI", place=facts.at_setup(limited.line))
    with suppress(LookupError, TypeError):
        tag = str(facts.pyproject.tables["tool"]["scikit-build"]["wheel"]["py-api"])
        if abi := {"py": "none", "cp": "abi3"}.get(tag[:2]):
            yield Guess(key="abi", value=abi, says=f"tags its wheels {tag}", place=facts.at_word(PYPROJECT, "py-api"))
    for text, line in facts.setup.texts_with("TORCH_TARGET_VERSION"):
        if oldest := _STABLE.search(text):
            version = f"{int(oldest[1], 16)}.{int(oldest[2], 16)}"
            says = f"keeps to the stable ABI of torch {version}"
            yield Guess(key="torch_abi", value={"stable": version}, says=says, place=facts.at_setup(line))
            return
    if unstable := facts.native.unstable_headers:
        header = next(iter(unstable))
        others = f" and {len(unstable) - 1} more" if len(unstable) > 1 else ""
        says = f"includes {header}{others}, outside of torch's stable ABI: a wheel for each torch"
        yield Guess(says=says, place=unstable[header])
    elif place := facts.native.torch_header:
        yield Guess(says="includes headers of torch's stable ABI alone: see torch_abi", place=place)


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
        yield Guess(says="reads TORCH_CUDA_ARCH_LIST", place=facts.at_setup(line))
    elif flag := next(facts.setup.texts_with(*_FLAGS), None):
        says = f"writes down GPU architectures ({flag[0][:40]})"
        yield Guess(key="gencode", value="replace", says=says, place=facts.at_setup(flag[1]))
    elif facts.build_file and (place := facts.cmake.first(CMAKE_ARCHITECTURES)):
        yield Guess(key="gencode", value="replace", says="chooses GPU architectures itself", place=place)
    elif facts.nvcc_line:
        says = "runs nvcc without GPU architectures"
        yield Guess(key="gencode", value="replace", says=says, place=facts.at_setup(facts.nvcc_line))


_NOTED_FLAGS: Final = {
    ("-std=",): "asks for {}, which is raised where torch's headers need more",
    ("-march=native", "-mtune=native"): "asks for {}, which becomes a flag for every processor of its kind",
}


def _flags(facts: Facts) -> Iterator[Guess]:
    for words, says in _NOTED_FLAGS.items():
        if (flag := next(facts.setup.texts_with(*words), None)) and (facts.torch or "-std=" not in words):
            yield Guess(says=says.format(flag[0][:40]), place=facts.at_setup(flag[1]))


def _download(facts: Facts) -> Iterator[Guess]:
    if facts.build_file and (place := facts.cmake.first(CMAKE_DOWNLOAD)):
        says = "downloads something during the build, which a container without a network refuses"
        yield Guess(says=says, place=place)


def _imports(facts: Facts) -> Iterator[Guess]:
    modules, place, says = _modules(facts)
    before = ["torch"] if facts.torch else []
    yield Guess(key="test_import", value=[*before, *modules[:_MODULES]], says=says, place=place)


def _modules(facts: Facts) -> tuple[list[str], SourcePlace | None, str]:
    """Return modules that must be importable: the declared ones, else those CMake makes, else the package itself."""
    operators = facts.native.operators
    generated = facts.tree.own(".pyx", ".i")  # by Cython and SWIG
    by_ctypes = facts.nvcc_line and facts.tree.own("/__init__.py") and not generated
    of_cuda_first = sorted(facts.setup.extensions, key=lambda each: "CUDAExtension" not in each.kinds)
    # Those of another function may be another mode.
    together = [each for each in of_cuda_first if each.function == of_cuda_first[0].function]
    named = ((name, each.line) for each in together for name in each.modules)
    declared = {name: line for name, line in named if all(map(_is_module, name.split(".")))}
    last_parts = {name.rpartition(".")[2] for name in declared}
    defined = (name for name in facts.native.modules if not declared or name in last_parts or _MACRO.fullmatch(name))
    no_module = next(defined, None) is None and (operators or by_ctypes)
    if declared and not no_module:
        return [*declared], facts.at_setup(next(iter(declared.values()))), "the names of its extensions"
    if made := facts.cmake.modules if facts.build_file else {}:
        return [*made], next(iter(made.values())), "the modules that CMake makes"
    package = _package(facts)
    does = "registers operators" if operators else "uses nothing of Python"
    why = f"its extension {does} and is no module" if no_module else "its modules were not understood"
    line = facts.setup.extension_line
    place = operators if no_module and operators else facts.at_setup(line) if line else None
    return [package], place, f"{why}: the package stands for it"


def _is_module(part: str) -> bool:
    return part.isidentifier() and not _OTHER_GPUS.fullmatch(part)


def _requires_dist(facts: Facts) -> Iterator[Guess]:
    """Guess requirements that the wheels lack: their package imports what they do not bring."""
    needed = facts.declared.requirement_on("torch")
    admitted = Requirement(needed).specifier if needed else ()
    if needed and any(each.operator[0] in "<=~" for each in admitted):
        place = facts.tree.place_of(facts.declared.file, needed)
        yield Guess(says=f"its wheels are for torch{admitted} alone", place=place)
    imports = facts.imports_of(_package(facts))
    if not (facts.torch or needed) and "torch" in imports and (facts.declared.requires or facts.requires_nothing):
        says = "imports torch, which its wheels do not require: with torch in extra_deps they do"
        yield Guess(says=says, place=imports["torch"])
    own = {"torch", *_own_modules(facts), *(module.partition(".")[0] for module in _modules(facts)[0])}
    if facts.requires_nothing and (others := [name for name in imports if name not in own]):
        value = {"add": [_DISTRIBUTIONS.get(name, name) for name in others]}
        says = f"imports {', '.join(others)}, and its wheels require nothing"
        yield Guess(key="requires_dist", value=value, says=says, place=imports[others[0]])


def _top_level(facts: Facts) -> Iterator[Guess]:
    """Guess packages beside the project's own: ``find_packages()`` takes them into its wheel."""
    tops = fnmatch.filter(facts.tree.files, f"{facts.folder}*/__init__.py")
    known = {module.partition(".")[0] for module in _modules(facts)[0]}
    project = canonicalize_name(facts.declared.name or "")
    folders = {name.removeprefix(facts.folder).removesuffix("/__init__.py") for name in tops} - known
    if facts.setup.packages:
        folders &= {*facts.setup.packages}
    if others := sorted(each for each in folders if "/" not in each and not is_named_after(project, each)):
        yield Guess(says=f"has {', '.join(others)} beside its package: wheels with them need allow: {{top-level: WHY}}")


def _package(facts: Facts) -> str:
    """Return the package to import: the one named like the project, else the first with an __init__.py."""
    folders = [name.split("/")[-2] for name in facts.tree.own("/__init__.py")]
    wanted = (facts.declared.name or "").replace("-", "_").lower()
    named = next((folder for folder in folders if folder.lower() == wanted), None)
    tops = fnmatch.filter(facts.tree.own("/__init__.py"), f"{facts.folder}*/__init__.py")
    others = (name.split("/")[-2] for name in sorted(tops, key=lambda name: name.count("/")))
    first = next((name for name in others if name not in facts.setup.imports), wanted)  # setup.py imports its helpers
    return named or first


_RULES: Final[tuple[Callable[[Facts], Iterator[Guess]], ...]] = (
    _description,
    _licence,
    _isolation,
    _conditional,
    _needs,
    _switches,
    _abi,
    _architectures,
    _flags,
    _download,
    _imports,
    _requires_dist,
    _top_level,
)


@dataclass(frozen=True, kw_only=True)
class SourceSurvey:
    """Name of a project and the guesses about it."""

    name: ProjectName
    guesses: tuple[Guess, ...]
    declared: Declared

    @property
    def entry(self) -> dict[str, object]:
        """Entry of the project, as `amend` takes it."""
        return {guess.key: _as_written(guess.value) for guess in self.guesses if guess.key}


def survey_project(text: str, *, version: str | None = None, subdirectory: str | None = None) -> SourceSurvey:
    """Survey the source of a project without running it; `fetch_origin` describes the arguments."""
    path = PurePosixPath(subdirectory or ".")  # hopper for ./hopper/
    folder = str(path) if path.parts else ""
    with temporary_folder() as place:
        origin = fetch_origin(text, version, folder, place)
        facts = Facts.of(origin.folder, folder)
        name = _checked_name((facts.declared.name if origin.source else None) or origin.name)
        return _survey(name, facts, _beginning(name, origin, facts))


def survey_checkout(folder: Path, *, name: str | None = None, version: str | None = None) -> SourceSurvey:
    """Survey a package's own checkout, as `survey_project` does; only its owner may judge the licence."""
    facts = Facts.of(folder, files=files_of_checkout(folder))
    if not (said := name or facts.declared.name):
        unnamed = f"no {PYPROJECT} or {SETUP} in {folder} says the package's name"
        raise UsageError("project-name-unknown", unnamed, hint="give it: --name NAME")
    project = _checked_name(said)
    beginning = [Guess(key="source", value=".", says="this checkout")]
    if facts.pyproject.is_versioned_by_tags and not version:
        place = facts.at_word(PYPROJECT, "requires")
        beginning += [Guess(says="reads its version from git: the tag's is built", place=place)]
    elif version or not facts.pyproject.version:
        beginning += [_version(project, version or facts.version)]
    survey = _survey(project, facts, beginning)
    return replace(survey, guesses=tuple(each for each in survey.guesses if each.key != "redistributable"))


def _survey(name: ProjectName, facts: Facts, beginning: Iterable[Guess]) -> SourceSurvey:
    check_needs_build(name, facts)
    survey = SourceSurvey(name=name, guesses=(*beginning, *guess_entry(facts)), declared=facts.declared)
    return checked_survey(survey, facts.tree.folder)


def checked_survey(survey: SourceSurvey, folder: Path) -> SourceSurvey:
    """Return a survey whose entry is one of ``packages.yml``; a `folder` of the entry is below the given one."""
    name = survey.name
    _, faults = validate({"packages": {name: survey.entry}}, Packages, folder)
    if faults:
        lines = (f"{'.'.join(map(str, key_path[2:]))}: {message}" for key_path, message in faults)
        what = f"no entry can be made of the source of {name}:\n"
        raise UsageError("entry-impossible", what + "\n".join(lines))
    return survey


def _checked_name(text: str) -> ProjectName:
    try:
        name = project_name(text)
    except ValueError as error:
        raise UsageError("project-name-invalid", f"the name of the project: {error}") from None
    if reason := reservation(name):
        raise UsageError("source-unavailable", reason)
    return name


def _version(name: ProjectName, version: str | None) -> Guess:
    if version is None:
        raise UsageError(
            "version-unknown", f"nothing in the source says the version of {name}", hint="give it: --version 1.2.3"
        )
    try:
        return Guess(key="versions", value=[project_version(version)], says="the newest, or what was named")
    except ValueError as error:
        raise UsageError("version-invalid", str(error)) from None


def _beginning(name: ProjectName, origin: SourceOrigin, facts: Facts) -> Iterator[Guess]:
    for note in origin.notes:
        yield Guess(says=note)
    tagged = versions_of_tag(str(origin.source.get("ref", ""))) if facts.pyproject.is_versioned_by_tags else ()
    yield _version(name, origin.version or facts.version or next(iter(tagged), None))
    if origin.source:
        yield Guess(key="source", value=origin.source, says="the repository that was named")
        others = released(name)
        same = f"the package index has {name}: write same where that is this project"
        says = same if others else f"the package index has no {name}"
        yield Guess(key="pypi", value="other" if others else "absent", says=says)


def _as_written(value: object) -> object:
    if isinstance(value, dict):
        return {key: _as_written(each) for key, each in value.items()}
    return Unquoted(str(value).lower()) if isinstance(value, bool) else value
