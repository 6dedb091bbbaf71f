"""Facts about one source: its declarations, its build script, and its C++, CUDA and CMake files."""

from __future__ import annotations

import fnmatch
import functools
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from configparser import ConfigParser
from configparser import Error as ConfigParserError
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from packaging.metadata import RawMetadata
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from wheelmill.config.model.package import has_torch
from wheelmill.config.pyproject import PKG_INFO, PYPROJECT, Pyproject
from wheelmill.config.survey.scripts import SETUP, SetupScript
from wheelmill.config.survey.tree import CUDA, NATIVE, SourcePlace, SourceTree
from wheelmill.errors import UnreadableError, UsageError
from wheelmill.wheel.metadata import read_fields

_SETUP_CFG: Final = "setup.cfg"
_BEGINNING: Final = 2_000
"""Characters of a setup.py that may name its licence."""


@dataclass(frozen=True, kw_only=True)
class Declared:
    """Declarations of one source."""

    name: str | None
    version: str | None
    summary: str
    requires: tuple[str, ...]
    requires_python: str | None
    urls: tuple[str, ...]
    licences: tuple[tuple[SourcePlace, str], ...]
    """Texts that may name its licence, the surest first."""
    file: str
    """File with most of it."""

    def requirement_on(self, project: str) -> str | None:
        """Return the requirement of the wheels on a project; None if there is none."""
        for text, parsed in _requirements(self.requires):
            if canonicalize_name(parsed.name) == project and "extra" not in str(parsed.marker):
                return text
        return None


def read_declared(tree: SourceTree, folder: str, pyproject: Pyproject, setup: SetupScript) -> Declared:
    """Read the declarations of a source; `folder` is that of `Facts`."""
    try:
        fields = read_fields(tree.content(folder + PKG_INFO))
    except UnreadableError as error:
        raise UsageError("source-unreadable", f"{PKG_INFO} cannot be read: {error}") from None
    project = _table(pyproject.tables, "project")
    config = _setup_cfg(tree, folder)
    file = PKG_INFO if fields else PYPROJECT if project else SETUP
    fallback = {
        name: next((text for text in (_text(project.get(name)), config.get(name), *setup.argument(name)) if text), None)
        for name in ("name", "version", "description")
    }
    requires = fields.get("requires_dist") or _texts(project.get("dependencies")) or setup.argument("install_requires")
    urls = [*_texts(list(_table(project, "urls").values())), *setup.argument("url"), config.get("url", "")]
    urls += [fields.get("home_page", ""), *fields.get("project_urls", {}).values()]
    return Declared(
        name=fields.get("name") or fallback["name"],
        version=fields.get("version") or fallback["version"],
        summary=(fields.get("summary") or fallback["description"] or "").replace("UNKNOWN", ""),
        requires=tuple(requires),
        requires_python=_text(project.get("requires-python")) or next(iter(setup.argument("python_requires")), None),
        urls=tuple(url for url in urls if url),
        licences=tuple(_licences(tree, folder, fields, project, setup)),
        file=folder + file,
    )


def _licences(
    tree: SourceTree, folder: str, fields: RawMetadata, project: Mapping[str, object], setup: SetupScript
) -> Iterator[tuple[SourcePlace, str]]:
    names = [name for name in sorted(tree.files) if name.upper().startswith(("LICENSE", "LICENCE", "COPYING"))]
    names += [name for name in sorted(tree.files) if folder and name.upper().startswith(f"{folder}LICEN".upper())]
    for name in names:
        yield SourcePlace(file=name, line=1), _text_of(tree, name)
    own = project.get("license")
    written = _text(own) or _text(own.get("text") if isinstance(own, dict) else None)
    beginning = _text_of(tree, folder + SETUP)[:_BEGINNING]
    for file, texts in (
        (PKG_INFO, [fields.get("license_expression"), fields.get("license"), *fields.get("classifiers", ())]),
        (PYPROJECT, [written, *_texts(project.get("classifiers"))]),
        (SETUP, [*setup.argument("license"), *setup.argument("classifiers"), beginning]),
    ):
        yield from ((SourcePlace(file=folder + file, line=1), text) for text in texts if text)


def _setup_cfg(tree: SourceTree, folder: str) -> dict[str, str]:
    parser = ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(_text_of(tree, folder + _SETUP_CFG))
    except ConfigParserError as error:
        raise UsageError("source-unreadable", f"{_SETUP_CFG} cannot be read: {error}") from None
    return dict(parser["metadata"]) if parser.has_section("metadata") else {}


def _text_of(tree: SourceTree, name: str) -> str:
    return tree.content(name).decode(errors="replace")


def _table(tables: Mapping[str, object], name: str) -> dict[str, object]:
    table = tables.get(name)
    return table if isinstance(table, dict) else {}


def _requirements(texts: Iterable[str]) -> Iterator[tuple[str, Requirement]]:
    """Yield the texts that are requirements (PEP 508), each with its parsed form."""
    for text in texts:
        with suppress(InvalidRequirement):
            yield text, Requirement(text)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: object) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


_INCLUDE: Final = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)', re.MULTILINE)
_IMPORT: Final = re.compile(r"^(?:import|from)[ \t]+([A-Za-z](?:\w*[A-Za-z0-9])?)\b", re.MULTILINE | re.ASCII)
_GPU_QUESTION: Final = re.compile(
    r"^\w+[ \t]*=[^\n#]{0,200}\btorch\.cuda\.(?:get_device_(?:cap|prop|name)|current_device)", re.MULTILINE
)
_MODULE: Final = re.compile(
    r"\b(?:PYBIND11_MODULE|NB_MODULE)\s*\(\s*(\w+)|\bPy(?:Init|ModExport)_(\w+)|\bPy(?:MODINIT|MODEXPORT)_FUNC\b"
)
_OPERATORS: Final = re.compile(r"\b(?:STABLE_)?TORCH_LIBRARY(?:_FRAGMENT)?\s*\(")
_TORCH: Final = ("torch/", "ATen/", "c10/")
_STABLE_TORCH: Final = ("torch/csrc/stable/", "torch/headeronly/", "torch/csrc/inductor/aoti_torch/c/")
"""Headers of torch's stable ABI."""

_COMPONENTS: Final[Mapping[str, tuple[str, ...]]] = {
    "cublas": ("cublas",),
    "cusparse": ("cusparse",),
    "cusolver": ("cusolver",),
    "curand": ("curand",),
    "cufft": ("cufft",),
    "cudnn": ("cudnn",),
    "nccl": ("nccl",),
    "nvtx": ("nvtx3/", "nvToolsExt"),
    "nvrtc": ("nvrtc",),
    "nvjitlink": ("nvJitLink",),
    "nvjpeg": ("nvjpeg",),
    "nvml": ("nvml.h",),
    "npp": ("npp",),
    "cufile": ("cufile",),
    "profiler-api": ("cuda_profiler_api", "cudaProfiler"),
}
"""Components of the toolkit besides the compiler, with the beginnings of their headers' names."""

_CMAKE: Final = ("CMakeLists.txt", ".cmake")
# A bounded count of characters: a hostile file without ")" would take the square of its size.
CMAKE_CUDA: Final = re.compile(
    r"\b(?:project|enable_language|check_language)\s*\([^)]{0,500}\bCUDA\b|\bfind_package\s*\(\s*CUDA(?:Toolkit)?\b",
    re.IGNORECASE,
)
CMAKE_TORCH: Final = re.compile(r"\bfind_package\s*\(\s*Torch\b", re.IGNORECASE)
_CMAKE_MODULE: Final = re.compile(
    r"\b(?:pybind11_add_module|nanobind_add_module|python3?_add_library)\s*\(\s*(?:#.{0,200}\n\s*){0,9}(\w+)",
    re.IGNORECASE,
)
_CMAKE_PLACE: Final = re.compile(
    r"\binstall\s*\(\s*TARGETS\s+(\w+)[^)]{0,500}?\bDESTINATION\s+\"?(?:\$\{\w+\}/)?([\w./-]+)", re.IGNORECASE
)
CMAKE_ARCHITECTURES: Final = re.compile(
    r"\bset\s*\(\s*CMAKE_CUDA_ARCHITECTURES\s+\"?(?:\d|all)|\bCUDA_ARCHITECTURES\s+\"?\d|arch=compute_\d|-arch=sm_\d"
    r"|(?i:\bcuda_add_(?:library|executable)\s*\()"
)
"""Hard-coded GPU architectures, or FindCUDA, which does not read CMake's."""
CMAKE_NATIVE: Final = re.compile(r"\bset\s*\(\s*CMAKE_CUDA_ARCHITECTURES\s+\"?native\b")
_CMAKE_SWITCH: Final = re.compile(
    r"\boption\s*\(\s*(\w*(?<!NO_)CUDA)\s+\"[^\"]{0,200}\"\s*(?:OFF|FALSE|0)?\s*\)", re.IGNORECASE
)
CMAKE_NUMPY: Final = re.compile(r"\bfind_package\s*\(\s*Python3?\b[^)]{0,500}\bNumPy\b", re.IGNORECASE)
CMAKE_DOWNLOAD: Final = re.compile(
    r"^[ \t]*(FetchContent_Declare|ExternalProject_Add|file\s*\(\s*DOWNLOAD)\b", re.MULTILINE | re.IGNORECASE
)


@dataclass(frozen=True)
class NativeCode:
    """The compiled files of one source."""

    _tree: SourceTree

    @functools.cached_property
    def includes(self) -> dict[str, SourcePlace]:
        """Included headers by name, each with the first line that includes it."""
        places: dict[str, SourcePlace] = {}
        for place, match in self._tree.search(_INCLUDE, *NATIVE):
            places.setdefault(match[1].strip(), place)
        return places

    @property
    def torch_header(self) -> SourcePlace | None:
        """First line that includes a torch header; None if there is none."""
        return next((place for header, place in self.includes.items() if header.startswith(_TORCH)), None)

    @property
    def unstable_headers(self) -> dict[str, SourcePlace]:
        """Included headers of torch outside of its stable ABI."""
        return {
            header: place
            for header, place in self.includes.items()
            if header.startswith(_TORCH) and not header.startswith(_STABLE_TORCH)
        }

    @property
    def components(self) -> Iterator[tuple[str, SourcePlace]]:
        """Toolkit components whose headers are included, with the including line."""
        for component, beginnings in _COMPONENTS.items():
            if place := next((self.includes[each] for each in self.includes if each.startswith(beginnings)), None):
                yield component, place

    @functools.cached_property
    def modules(self) -> dict[str, SourcePlace]:
        """Python modules defined, by name; `TORCH_EXTENSION_NAME` stands for the name in setup.py."""
        return {(match[1] or match[2] or ""): place for place, match in self._tree.search(_MODULE, *NATIVE)}

    @functools.cached_property
    def operators(self) -> SourcePlace | None:
        """First line that registers torch operators; None if there is none."""
        return next((place for place, _ in self._tree.search(_OPERATORS, *NATIVE)), None)


@dataclass(frozen=True)
class CMakeFiles:
    """The CMake files of one source."""

    _tree: SourceTree

    @property
    def switches(self) -> Iterator[tuple[SourcePlace, str]]:
        """Options for CUDA that are off by default."""
        return ((place, match[1]) for place, match in self._tree.search(_CMAKE_SWITCH, *_CMAKE))

    @property
    def modules(self) -> dict[str, SourcePlace]:
        """Python modules built by CMake, under the package that each is installed into."""
        packages = {match[1]: match[2] for _, match in self._tree.search(_CMAKE_PLACE, *_CMAKE)}
        modules = {}
        for place, match in self._tree.search(_CMAKE_MODULE, *_CMAKE):
            package = packages.get(match[1], ".").strip("./").replace("/", ".")
            modules[f"{package}.{match[1]}" if package else match[1]] = place
        return modules

    def first(self, pattern: re.Pattern[str]) -> SourcePlace | None:
        """Return the first line with a pattern, such as `CMAKE_CUDA`; None if there is none."""
        return next((place for place, _ in self._tree.search(pattern, *_CMAKE)), None)


_BACKENDS: Final = {"scikit_build_core": "CMakeLists.txt", "skbuild": "CMakeLists.txt", "mesonpy": "meson.build"}


@dataclass(frozen=True, kw_only=True)
class Facts:
    """All facts about one source."""

    tree: SourceTree
    folder: str
    """Build folder inside `tree`, with a trailing slash; empty for the top."""
    pyproject: Pyproject
    setup: SetupScript
    declared: Declared

    @classmethod
    def of(cls, source: Path, subdirectory: str = "", *, files: Iterable[Path] | None = None) -> Facts:
        """Read the facts of a source, of which `subdirectory` is built; None for `files` means all."""
        folder = f"{subdirectory.strip('/')}/" if subdirectory else ""
        tree = SourceTree(source, files, folder)
        if not any(name.startswith(folder) for name in tree.files):
            raise UsageError(
                "source-incomplete", f"the source has no folder {subdirectory}" if folder else "the source has no files"
            )
        pyproject = Pyproject.parse(tree.content(folder + PYPROJECT), source.name)
        setup = SetupScript.read(tree, folder)
        declared = read_declared(tree, folder, pyproject, setup)
        return cls(tree=tree, folder=folder, pyproject=pyproject, setup=setup, declared=declared)

    @property
    def version(self) -> str | None:
        """Version of the source; None if its build computes it."""
        declared = self.declared.version or ""
        if declared.startswith(("attr:", "file:")):  # setup.cfg
            return None
        is_elsewhere = "project" in self.pyproject.tables or self.pyproject.is_versioned_by_tags
        return declared or (None if is_elsewhere else self.setup.default_version)

    @functools.cached_property
    def native(self) -> NativeCode:
        """Compiled files of the source."""
        return NativeCode(self.tree)

    @functools.cached_property
    def cmake(self) -> CMakeFiles:
        """CMake files of the source."""
        return CMakeFiles(self.tree)

    def imports_of(self, package: str) -> dict[str, SourcePlace]:
        """Return the third-party modules that files of a package import when they are imported, with first lines."""
        known = {package, *sys.stdlib_module_names}
        places: dict[str, SourcePlace] = {}
        for place, match in self.search_package(package, _IMPORT):
            if match[1] not in known:
                places.setdefault(match[1], place)
        return places

    def gpu_question_of(self, package: str) -> SourcePlace | None:
        """Return the first line of a package that asks torch for a GPU when it is imported; None if there is none."""
        return next((place for place, _ in self.search_package(package, _GPU_QUESTION)), None)

    def search_package(self, package: str, pattern: re.Pattern[str]) -> Iterator[tuple[SourcePlace, re.Match[str]]]:
        """Find a pattern in the Python files of a package."""
        matches = self.tree.search(pattern, ".py")
        return ((place, match) for place, match in matches if f"/{package}/" in f"/{place.file}")

    @property
    def requires_nothing(self) -> bool:
        """True if a source distribution says that its wheels require nothing."""
        told = fnmatch.filter(self.tree.files, "*.egg-info/requires.txt")  # an older PKG-INFO has no Requires-Dist
        return self.folder + PKG_INFO in self.tree.files and not self.declared.requires and not told

    @functools.cached_property
    def setup_requires(self) -> tuple[str, ...]:
        """Requirements of the build that setup.py names."""
        return tuple(text for text, _ in _requirements(self.setup.argument("setup_requires")))

    @functools.cached_property
    def nvcc_line(self) -> int | None:
        """First line of setup.py that compiles GPU code without torch; None if none does."""
        lines = (each.line for each in self.setup.extensions if any(name.endswith(".cu") for name in each.sources))
        return None if self.torch else next(lines, None)

    @functools.cached_property
    def build_file(self) -> str | None:
        """CMake or meson file that defines the compiled code; None if setup.py alone defines it."""
        backend = str(_table(self.pyproject.tables, "build-system").get("build-backend"))
        named = next((file for start, file in _BACKENDS.items() if backend.startswith(start)), None)
        by_cmake = "skbuild" in self.setup.imports or any(
            "CMakeExtension" in extension.kinds for extension in self.setup.extensions
        )
        return named or ("CMakeLists.txt" if by_cmake else None)

    @functools.cached_property
    def torch(self) -> tuple[SourcePlace, str] | None:
        """First line that links to torch, and the way it does; None if the source does not link to torch."""
        if line := self.setup.imports.get("torch"):
            return self.at_setup(line), "imports torch"
        if place := self.native.torch_header:
            return place, "includes torch's headers"
        if self.build_file and (place := self.cmake.first(CMAKE_TORCH)):
            return place, "links to torch"
        for file, requires in ((PYPROJECT, self.pyproject.requires), (SETUP, self.setup_requires)):
            if has_torch(requires):
                return self.at_word(file, "torch"), "requires torch"
        return None

    @functools.cached_property
    def cuda(self) -> tuple[SourcePlace, str] | None:
        """First line that compiles for GPUs, and the way it does; None if the source has no GPU code."""
        for extension in self.setup.extensions:
            if "CUDAExtension" in extension.kinds:
                return self.at_setup(extension.line), "declares a CUDAExtension"
        if self.nvcc_line:
            return self.at_setup(self.nvcc_line), "compiles GPU code"
        if self.build_file and (place := self.cmake.first(CMAKE_CUDA)):
            return place, "asks for CUDA"
        if self.setup.extensions and (mention := next(self.setup.texts_with("cuda", "CUDA", "nvcc"), None)):
            return self.at_setup(mention[1]), "speaks of CUDA"
        return next(((SourcePlace(file=name, line=1), "is GPU code") for name in self.tree.own(*CUDA)), None)

    @property
    def missing(self) -> tuple[SourcePlace, str] | None:
        """Line in setup.py and path of a CUDA file that the source lacks; None if no file is missing."""
        if ".gitmodules" in self.tree.files:  # a submodule may have the file
            return None
        for extension in self.setup.extensions:
            for source in (each for each in extension.sources if each.endswith(CUDA)):
                path = self.folder + str(PurePosixPath(source))
                if not any(fnmatch.filter(self.tree.files, path)) and not self.tree.own(".cu"):
                    return self.at_setup(extension.line), path
        return None

    def at_setup(self, line: int) -> SourcePlace:
        """Return the place of a line in setup.py."""
        return SourcePlace(file=self.folder + SETUP, line=line)

    def at_word(self, file: str, word: str) -> SourcePlace:
        """Return the first line of a file with a word, or line 1 if no line has it."""
        return self.tree.place_of(self.folder + file, word)
