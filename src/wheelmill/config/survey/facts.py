"""All that is known of one source: what it declares, its build script, its compiled files."""

from __future__ import annotations

import fnmatch
import functools
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from wheelmill.config.pyproject import PYPROJECT, Pyproject
from wheelmill.config.survey.declared import Declared, read_declared
from wheelmill.config.survey.native_code import CMakeFiles, NativeCode
from wheelmill.config.survey.setup_script import SETUP, ExtensionCall, SetupScript
from wheelmill.config.survey.source_tree import CUDA, Place, SourceTree
from wheelmill.errors import UsageError

_BACKENDS: Final = {"scikit_build_core": "CMakeLists.txt", "skbuild": "CMakeLists.txt", "mesonpy": "meson.build"}


@dataclass(frozen=True, kw_only=True)
class Facts:
    """One source."""

    tree: SourceTree
    folder: str
    """Where in it the build starts, with a slash behind it; empty at the top."""
    pyproject: Pyproject
    setup: SetupScript
    declared: Declared

    @classmethod
    def of(cls, source: Path, subdirectory: str = "") -> Facts:
        """Look at a folder.

        Args:
            source: the whole source.
            subdirectory: the folder in it that is built; empty for the whole.

        Raises:
            UsageError: something in it cannot be read, or is larger than any real one.
        """
        tree = SourceTree(source)
        folder = f"{subdirectory.strip('/')}/" if subdirectory else ""
        if not any(name.startswith(folder) for name in tree.files):
            raise UsageError(
                "source-incomplete", f"the source has no folder {subdirectory}" if folder else "the source has no files"
            )
        pyproject = Pyproject.parse(tree.content(folder + PYPROJECT), source.name)
        setup = SetupScript.read(tree, folder)
        declared = read_declared(tree, folder, pyproject, setup)
        return cls(tree=tree, folder=folder, pyproject=pyproject, setup=setup, declared=declared)

    @functools.cached_property
    def native(self) -> NativeCode:
        """Its compiled files."""
        return NativeCode(self.tree)

    @functools.cached_property
    def cmake(self) -> CMakeFiles:
        """Its CMake files."""
        return CMakeFiles(self.tree)

    @property
    def extensions(self) -> tuple[ExtensionCall, ...]:
        """What its setup.py declares."""
        return self.setup.extensions

    @functools.cached_property
    def build_file(self) -> str | None:
        """The file that says what CMake or meson compile; None where setup.py alone says what is compiled."""
        system = self.pyproject.tables.get("build-system")
        backend = str(system.get("build-backend")) if isinstance(system, dict) else ""
        named = next((file for start, file in _BACKENDS.items() if backend.startswith(start)), None)
        by_cmake = "skbuild" in self.setup.imports or any("CMakeExtension" in each.kinds for each in self.extensions)
        return named or ("CMakeLists.txt" if by_cmake else None)

    @functools.cached_property
    def torch(self) -> tuple[Place, str] | None:
        """Where it links to torch, and in what way; None where it does not."""
        if line := self.setup.imports.get("torch"):
            return self.at_setup(line), "imports torch"
        if place := self.native.torch_header:
            return place, "includes torch's headers"
        if self.build_file and (place := self.cmake.torch):
            return place, "links to torch"
        return None

    @functools.cached_property
    def cuda(self) -> tuple[Place, str] | None:
        """Where it compiles for GPUs, and in what way; None where it does not."""
        for extension in self.extensions:
            if "CUDAExtension" in extension.kinds:
                return self.at_setup(extension.line), "declares a CUDAExtension"
        if self.build_file and (place := self.cmake.cuda):
            return place, "asks for CUDA"
        words = ("cuda", "CUDA", "nvcc")
        if self.extensions and (found := next(self.setup.texts_with(*words), None)):
            return self.at_setup(found[1]), "speaks of CUDA"
        return None

    @property
    def missing(self) -> tuple[Place, str] | None:
        """A CUDA file that setup.py names and the source lacks."""
        if ".gitmodules" in self.tree.files:  # which may have it
            return None
        for extension in self.extensions:
            for source in (each for each in extension.sources if each.endswith(CUDA)):
                path = self.folder + str(PurePosixPath(source))
                if not any(fnmatch.filter(self.tree.files, path)) and not self.native.cuda_files:
                    return self.at_setup(extension.line), path
        return None

    def at_setup(self, line: int) -> Place:
        """A line of its setup.py."""
        return Place(file=self.folder + SETUP, line=line)

    def at_word(self, file: str, word: str) -> Place:
        """The first line of a file that has a word; the first of all where none has."""
        lines = self.tree.content(self.folder + file).decode(errors="replace").split("\n")
        numbers = (number for number, line in enumerate(lines, 1) if word in line)
        return Place(file=self.folder + file, line=next(numbers, 1))
