"""What the C++, CUDA and CMake files of a source tell: which libraries they use, and which modules they define."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from typing import Final

from wheelmill.config.survey.source_tree import CUDA, NATIVE, Place, SourceTree

_INCLUDE: Final = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)', re.MULTILINE)
_MODULE: Final = re.compile(r"\b(?:PYBIND11_MODULE|NB_MODULE)\s*\(\s*(\w+)|\bPyInit_(\w+)|\bPyMODINIT_FUNC\b")
_OPERATORS: Final = re.compile(r"\b(?:STABLE_)?TORCH_LIBRARY(?:_FRAGMENT)?\s*\(")
_TORCH: Final = ("torch/", "ATen/", "c10/")

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
    "profiler-api": ("cuda_profiler_api", "cudaProfiler"),
}
"""Components of the toolkit beside the compiler, and how the names of their headers begin."""

_CMAKE: Final = ("CMakeLists.txt", ".cmake")
_CMAKE_CUDA: Final = re.compile(
    r"\b(?:project|enable_language|check_language)\s*\([^)]*\bCUDA\b|\bfind_package\s*\(\s*CUDA(?:Toolkit)?\b",
    re.IGNORECASE,
)
_CMAKE_TORCH: Final = re.compile(r"\bfind_package\s*\(\s*Torch\b", re.IGNORECASE)
_CMAKE_MODULE: Final = re.compile(
    r"\b(?:pybind11_add_module|nanobind_add_module|python3?_add_library)\s*\(\s*(\w+)", re.IGNORECASE
)
_CMAKE_PLACE: Final = re.compile(r"\binstall\s*\(\s*TARGETS\s+(\w+)[^)]*?\bDESTINATION\s+\"?([\w./-]+)", re.IGNORECASE)
_CMAKE_LIST: Final = re.compile(
    r"\bset\s*\(\s*CMAKE_CUDA_ARCHITECTURES\s+\"?(?:\d|all|native)|\bCUDA_ARCHITECTURES\s+\"?\d|arch=compute_\d|-arch=sm_\d"
)
_CMAKE_NUMPY: Final = re.compile(r"\bfind_package\s*\(\s*Python3?\b[^)]*\bNumPy\b", re.IGNORECASE)
_CMAKE_DOWNLOAD: Final = re.compile(
    r"^[ \t]*(FetchContent_Declare|ExternalProject_Add|file\s*\(\s*DOWNLOAD)\b", re.MULTILINE | re.IGNORECASE
)


class NativeCode:
    """The compiled files of one source."""

    def __init__(self, tree: SourceTree) -> None:
        self._tree = tree

    @property
    def cuda_files(self) -> tuple[str, ...]:
        """Files that nvcc compiles."""
        return self._tree.own(*CUDA)

    @functools.cached_property
    def includes(self) -> dict[str, Place]:
        """Every header that is included, with the first line that does."""
        found: dict[str, Place] = {}
        for place, match in self._tree.search(_INCLUDE, *NATIVE):
            found.setdefault(match[1].strip(), place)
        return found

    @property
    def torch_header(self) -> Place | None:
        """Where a header of torch is included."""
        return next((place for header, place in self.includes.items() if header.startswith(_TORCH)), None)

    @property
    def components(self) -> Iterator[tuple[str, Place]]:
        """Components of the toolkit whose headers are included."""
        for component, beginnings in _COMPONENTS.items():
            if place := next((self.includes[each] for each in self.includes if each.startswith(beginnings)), None):
                yield component, place

    @functools.cached_property
    def modules(self) -> dict[str, Place]:
        """Python modules that are defined, by name; `TORCH_EXTENSION_NAME` stands for what setup.py says."""
        return {(match[1] or match[2] or ""): place for place, match in self._tree.search(_MODULE, *NATIVE)}

    @functools.cached_property
    def operators(self) -> Place | None:
        """Where operators of torch are registered."""
        return next((place for place, _ in self._tree.search(_OPERATORS, *NATIVE)), None)


class CMakeFiles:
    """The CMake files of one source."""

    def __init__(self, tree: SourceTree) -> None:
        self._tree = tree

    @property
    def cuda(self) -> Place | None:
        """Where CUDA is asked for."""
        return self._first(_CMAKE_CUDA)

    @property
    def torch(self) -> Place | None:
        """Where torch is."""
        return self._first(_CMAKE_TORCH)

    @property
    def numpy(self) -> Place | None:
        """Where headers of numpy are asked for."""
        return self._first(_CMAKE_NUMPY)

    @property
    def own_architectures(self) -> Place | None:
        """Where GPU architectures are written down."""
        return self._first(_CMAKE_LIST)

    @property
    def download(self) -> Place | None:
        """Where something is downloaded."""
        return self._first(_CMAKE_DOWNLOAD)

    @property
    def modules(self) -> dict[str, Place]:
        """Python modules that are made, each with the package that it is installed into."""
        packages = {match[1]: match[2] for _, match in self._tree.search(_CMAKE_PLACE, *_CMAKE)}
        found = {}
        for place, match in self._tree.search(_CMAKE_MODULE, *_CMAKE):
            package = packages.get(match[1], ".").strip("./").replace("/", ".")
            found[f"{package}.{match[1]}" if package else match[1]] = place
        return found

    def _first(self, pattern: re.Pattern[str]) -> Place | None:
        return next((place for place, _ in self._tree.search(pattern, *_CMAKE)), None)
