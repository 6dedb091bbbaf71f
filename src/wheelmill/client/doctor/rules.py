"""Defects of an environment, and the rules that find them, against torch, CUDA, Python and the system."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Final

from packaging.version import Version

from wheelmill.client.choose.fit import mismatches_inside, mismatches_of_tags, newer_driver
from wheelmill.client.doctor.inventory import USER_SITE, Examined, Installed, needs_torch
from wheelmill.client.records import Aspect, TargetEnvironment
from wheelmill.names import TORCH, ProjectName, PythonVersion, admits, version_or_none
from wheelmill.wheel.findings import some_of
from wheelmill.wheel.label import BuiltFor, words_for
from wheelmill.wheel.libraries import cuda_majors_of, is_of_toolkit, is_provided
from wheelmill.wheel.metadata import is_reserved
from wheelmill.wheel.shared_objects import SharedObject, lost_on_import
from wheelmill.wheel.torch_symbols import describe_symbol


class DefectCode(StrEnum):
    """Kind of defect; the values are part of the command's JSON."""

    DRIVER = "driver"
    """The driver is too old for the installed CUDA."""
    CUDA = "cuda"
    """A wheel was built for another CUDA than the installed torch."""
    TORCH = "torch"
    """A wheel was built for another torch than the installed one, or torch itself is of two releases."""
    TORCH_MISSING = "torch-missing"
    """A wheel needs torch, and none is installed."""
    TORCH_BUILD = "torch-build"
    """torch is built without CUDA, and a wheel with it."""
    ABI = "abi"
    """A wheel was built with another C++ ABI than the installed torch."""
    PYTHON = "python"
    """A wheel is for another Python."""
    PLATFORM = "platform"
    """A wheel is for another system or processor."""
    GLIBC = "glibc"
    """A wheel needs a newer glibc than this system has."""
    GPU = "gpu"
    """A wheel has no code that runs on a GPU of this machine."""
    LIBRARY = "library"
    """A library that a wheel needs is missing."""
    SEARCH_PATH = "search-path"
    """A library is looked for where any user of this machine may put one."""
    RUNTIMES = "runtimes"
    """The runtimes of two CUDA majors are installed."""
    IMPORT_PATH = "import-path"
    """Another module of the same name is imported in its place."""
    DUPLICATE = "duplicate"
    """A project is installed twice."""
    ALIAS = "alias"
    """An alias such as demo-cu13 stands for a wheel that is not installed."""
    MISSING_FILES = "missing-files"
    """Installed files are missing."""
    CHANGED_FILES = "changed-files"
    """Installed files have been changed."""
    CORRUPT = "corrupt"
    """A library or an extension module cannot be loaded: it is cut off, or no shared object."""
    METADATA = "metadata"
    """The metadata of something installed cannot be read, as after an interrupted installation."""
    LOCK = "lock"
    """Another version is installed than the lock or the project names, or none."""
    UNLABELLED = "unlabelled"
    """PyPI gave a wheel in place of the one that is locked, which names its CUDA and torch."""
    SHADOWED = "shadowed"
    """PyPI may give another file than the one that was chosen."""
    URL = "url"
    """The URL of a wheel no longer works."""
    SIZE = "size"
    """A wheel has another size than the lock says."""
    HASH = "hash"
    """A wheel has no hash, or another one."""


@dataclass(frozen=True, kw_only=True)
class Defect:
    """Defect of an environment or a project."""

    code: DefectCode
    subject: str
    detail: str
    project: ProjectName | None = None
    """The project at fault; None if it is no installed project."""
    place: Path | None = None
    """The file or folder that is in the way, or that names what should be installed."""
    obsolete_of: str | None = None
    """The tool that wrote a lock which is older than its project; None if the place is no such lock."""


def driver_is_new_enough(examined: Examined) -> Iterator[Defect]:
    """Check the driver: it runs the CUDA releases of its own time and older ones."""
    environment = examined.environment
    if environment.cuda:
        if needed := newer_driver(environment.cuda, environment, examined.facts):
            yield Defect(
                code=DefectCode.DRIVER,
                subject=f"driver {environment.driver}",
                detail=f"CUDA {environment.cuda} needs {needed} or newer: update it, or take torch for an older CUDA",
            )
        return
    for wheel in examined.by_project.values():
        cuda = wheel.distribution.label.cuda
        if cuda and not needs_torch(wheel.distribution) and (needed := newer_driver(cuda, environment, examined.facts)):
            detail = f"CUDA {cuda} needs driver {needed} or newer, and here is {environment.driver}"
            yield against(wheel, DefectCode.DRIVER, detail)


def torch_is_there(examined: Examined) -> Iterator[Defect]:
    """Check that torch is installed if a package needs it or links to it."""
    if examined.environment.torch is None:
        need = [
            name
            for name, installed in examined.by_project.items()
            if installed.links_to_torch or installed.distribution.torch or needs_torch(installed.distribution)
        ]
        if need:
            detail = f"is not installed, and {some_of(sorted(need))} cannot do without"
            yield Defect(code=DefectCode.TORCH_MISSING, subject="torch", detail=detail, project=TORCH)


def torch_has_cuda(examined: Examined) -> Iterator[Defect]:
    """Check torch's build: one for CPUs or AMD's GPUs lacks the libraries that CUDA wheels are linked to."""
    environment = examined.environment
    if not environment.cpu_only:
        return
    built = BuiltFor.of_installed(environment.torch_release or "").other_accelerator or "the CPU alone"
    for name, wheel in examined.by_project.items():
        asks = wheel.distribution.label.cuda_major is not None or any(
            "torch_cuda" in lib or "c10_cuda" in lib for lib in wheel.needed
        )
        if asks and name != TORCH and (wheel.links_to_torch or needs_torch(wheel.distribution)):
            detail = f"built with CUDA, but torch {environment.torch_release} is for {built}"
            yield against(wheel, DefectCode.TORCH_BUILD, detail)


def torch_is_of_one_release(examined: Examined) -> Iterator[Defect]:
    """Check torch's version: an interrupted upgrade leaves the files of one release and the METADATA of another."""
    torch, release = examined.by_project.get(TORCH), examined.environment.torch_release or ""
    files, metadata = version_or_none(release), version_or_none(torch.distribution.version) if torch else None
    if torch and files and metadata and Version(files.base_version) != Version(metadata.base_version):
        yield against(torch, DefectCode.TORCH, f"its files say torch {release}: it is of two releases")


def modules_are_its_own(examined: Examined) -> Iterator[Defect]:
    """Check for shadowing: a ``torch.py`` in the folder where Python is started is imported in place of torch."""
    for wheel in examined.by_project.values():
        folder = wheel.distribution.folder
        if folder is None or not _concerns_torch(wheel):
            continue
        for module in _modules_of(wheel):
            imported = examined.path.find(module)
            if imported and imported[1].parent.resolve() != folder.parent.resolve():
                where, path = imported
                detail = f"{path} is imported in place of its module {module}, because of {where.origin}"
                yield replace(against(wheel, DefectCode.IMPORT_PATH, detail), place=path)


def packages_are_its_own(examined: Examined) -> Iterator[Defect]:
    """Check the user's own site-packages: for other versions than the environment's, and for what needs torch."""
    order = {each.path: place for place, each in enumerate(examined.path.folders)}
    for other in examined.of_user:
        own = examined.by_project.get(other.project, Installed(distribution=other))
        first, second = (order.get(one.folder.parent, 0) if one.folder else 0 for one in (other, own.distribution))
        is_other = first < second and own.distribution.version != other.version
        if is_other or (own.distribution is other and _concerns_torch(own)):
            detail = f"{other.project} {other.version} is imported from {USER_SITE}, which other users do not have"
            yield replace(against(own, DefectCode.IMPORT_PATH, detail), place=other.folder)


def files_are_as_installed(examined: Examined) -> Iterator[Defect]:
    """Check installed files against RECORD, which lists them and their hashes."""
    for wheel in examined.installed:
        if wheel.unreadable:
            yield against(wheel, DefectCode.METADATA, f"RECORD or WHEEL cannot be read: {wheel.unreadable}")
        if wheel.missing:
            all_of = len(wheel.missing) >= sum(bool(row.digest) and ".dist-info/" not in row.name for row in wheel.rows)
            whole = "all of its files are gone, as after a removal by hand" if all_of else ""
            yield against(wheel, DefectCode.MISSING_FILES, whole or f"gone: {some_of(wheel.missing)}")
        if wheel.changed:
            yield against(wheel, DefectCode.CHANGED_FILES, f"not as RECORD says: {some_of(wheel.changed)}")
        for name, reason in wheel.corrupt.items():
            yield against(wheel, DefectCode.CORRUPT, f"{name}: {reason}")
    for folder in examined.broken:
        yield Defect(
            code=DefectCode.METADATA,
            subject=folder.name,
            detail=f"{folder} is left of an installation or a removal that broke off",
            place=folder,
        )


def projects_are_installed_once(examined: Examined) -> Iterator[Defect]:
    """Check for duplicates: of two versions in one environment, files of both may be imported."""
    seen: dict[ProjectName, str] = {}
    for wheel in examined.installed:
        project, version = wheel.distribution.project, wheel.distribution.version
        if seen.setdefault(project, version) != version:
            detail = f"{seen[project]} and {version} are both installed; uninstall both, then install one"
            yield Defect(code=DefectCode.DUPLICATE, subject=project, detail=detail, project=project)


def aliases_have_their_wheels(examined: Examined) -> Iterator[Defect]:
    """Check aliases: of two for different CUDA majors, installed one after the other, only one can be right."""
    for wheel in examined.by_project.values():
        alias = wheel.distribution
        if alias.stands_for is None:
            continue
        there = examined.by_project.get(alias.stands_for)
        if there is None:
            detail = f"stands for {alias.stands_for} {alias.version}, which is not installed"
            yield replace(against(wheel, DefectCode.ALIAS, detail), project=alias.stands_for)
        elif there.distribution.version != alias.version:
            other = f"{alias.stands_for} {there.distribution.version}"
            detail = f"stands for {alias.stands_for} {alias.version}, but {other} is installed"
            yield against(wheel, DefectCode.ALIAS, detail)


def wheels_are_for_this_python(examined: Examined) -> Iterator[Defect]:
    """Check a wheel's tags, which name its Python, system and C library (PEP 425)."""
    for wheel in examined.by_project.values():
        for mismatch in mismatches_of_tags(wheel.tags, examined.environment) if wheel.tags else ():
            yield against(wheel, DefectCode(mismatch.aspect), f"its wheel {mismatch.reason}")


def _concerns_torch(installed: Installed) -> bool:
    distribution = installed.distribution
    is_linked = installed.links_to_torch or needs_torch(distribution)
    return is_linked or distribution.project == TORCH or distribution.label.cuda_major is not None


def _modules_of(installed: Installed) -> list[str]:
    """The import names of a package, from the files in its RECORD."""
    names = [row.name for row in installed.rows]
    packages = {name.partition("/")[0] for name in names if name.endswith("/__init__.py") and name.count("/") == 1}
    modules = {name.partition(".")[0] for name in names if "/" not in name and name.endswith((".py", ".so"))}
    return sorted(name for name in packages | modules if name.isidentifier())


def against(installed: Installed, code: DefectCode, detail: str) -> Defect:
    """Return a defect of an installed package."""
    project = installed.distribution.project
    return Defect(code=code, subject=f"{project} {installed.distribution.version}", detail=detail, project=project)


_OF_CODE: Final = frozenset({Aspect.GLIBC, Aspect.ABI, Aspect.GPU})
NVIDIA: Final = "nvidia-"
"""Prefix of NVIDIA's own packages, some of which hold code for a few GPUs only and are used on no others."""
_RUNTIME: Final = "libcudart.so."


def labels_agree(examined: Examined) -> Iterator[Defect]:
    """Check labels, which name the torch, the CUDA and the C++ ABI that a wheel was built for."""
    environment = examined.environment
    for wheel in examined.by_project.values():
        distribution = wheel.distribution
        label, needed, torch = distribution.label, distribution.torch, environment.torch
        window = examined.windows.get(distribution.project)
        if distribution.project != TORCH and torch and needed and not admits(needed, torch):
            told = f"; {window}" if window else ""
            detail = f"built for {words_for(needed)}, but {torch} is installed{told}"
            yield against(wheel, DefectCode.TORCH, detail)
        elif torch and window and (lacking := window.lacking(torch)):
            detail = f"{window}; {torch}, which is installed, lacks {describe_symbol(lacking[0])}"
            yield against(wheel, DefectCode.TORCH, detail)
        if environment.cuda and label.cuda_major and label.cuda_major != environment.cuda.major:
            detail = f"built for CUDA {label.cuda_major}, but the installed torch is for CUDA {environment.cuda}"
            yield against(wheel, DefectCode.CUDA, detail)
        if environment.cuda and label.other_accelerator and distribution.project != TORCH:
            detail = f"built for {label.other_accelerator}, but the installed torch is for CUDA {environment.cuda}"
            yield against(wheel, DefectCode.CUDA, detail)
        if None not in (label.cxx11_abi, environment.cxx11_abi) and label.cxx11_abi != environment.cxx11_abi:
            yield against(wheel, DefectCode.ABI, "built with another C++ ABI than the installed torch")


def code_fits_the_machine(examined: Examined) -> Iterator[Defect]:
    """Check code for its glibc, the C++ ABI of its torch, and its GPUs, as for wheels to choose from."""
    for wheel in examined.by_project.values():
        if wheel.inside is None:
            continue
        for mismatch in mismatches_inside(wheel.inside, wheel.distribution.label, examined.environment):
            is_of_nvidia = mismatch.aspect is Aspect.GPU and wheel.distribution.project.startswith(NVIDIA)
            if mismatch.aspect in _OF_CODE and not is_of_nvidia:
                yield against(wheel, DefectCode(mismatch.aspect), mismatch.reason)
        machine = examined.environment.platform.machine
        foreign = [f"{so.name} ({so.machine})" for so in wheel.code if so.machine not in (None, machine)]
        if foreign and len(foreign) == len(wheel.code):
            yield against(wheel, DefectCode.PLATFORM, f"its code is for another processor: {some_of(foreign)}")


def modules_are_for_this_python(examined: Examined) -> Iterator[Defect]:
    """Check extension modules, whose names state their Python: one for another Python is not found (PEP 3149)."""
    python = examined.environment.python
    for wheel in examined.by_project.values():
        named: dict[str, set[PythonVersion | None]] = {}
        for so in wheel.code:
            stem, _, rest = so.name.partition(".cpython-")
            if rest:
                named.setdefault(stem, set()).add(_python_of(rest))
        lost = [stem for stem, pythons in named.items() if python not in pythons]
        if lost and not any(python in pythons for pythons in named.values()):
            others = ", ".join(sorted({str(version) for stem in lost for version in named[stem]}))
            yield against(wheel, DefectCode.PYTHON, f"its modules are for Python {others}: {some_of(lost)}")


def cuda_majors_agree(examined: Examined) -> Iterator[Defect]:
    """Check CUDA majors: code that is linked to torch and to another CUDA major than torch's crashes."""
    cuda = examined.environment.cuda
    for wheel in examined.by_project.values() if cuda else ():
        majors = {major for library in wheel.needed for major in cuda_majors_of(library)}
        said = wheel.distribution.label.cuda_major
        if cuda and wheel.links_to_torch and majors and cuda.major not in majors and said in (None, cuda.major):
            linked = some_of(sorted(library for library in wheel.needed if cuda_majors_of(library)))
            yield against(wheel, DefectCode.CUDA, f"linked to {linked}, but the installed torch is for CUDA {cuda}")


_NOWHERE: Final = "needs what neither the environment nor this system has"


def libraries_are_there(examined: Examined) -> Iterator[Defect]:
    """Check that the libraries of torch and CUDA that code names are in the environment or on the system."""
    environment, cuda = examined.environment, examined.environment.cuda
    for wheel in examined.by_project.values():
        if wheel.links_to_torch and (environment.torch is None or environment.cpu_only):
            continue  # another rule reports it
        majors = {majors[0] for library in wheel.needed if len(majors := cuda_majors_of(library)) == 1}
        chooses = wheel.links_to_torch or len(majors) > 1  # reported already, or it loads one of its code for each
        lost = [
            f"{library} ({user})"
            for library, user in wheel.needed.items()
            if _is_shared(library, environment)
            and not examined.has(library)
            and not (chooses and cuda and (others := cuda_majors_of(library)) and cuda.major not in others)
        ]
        if lost:
            yield against(wheel, DefectCode.LIBRARY, f"{_NOWHERE}: {some_of(lost)}")


def imports_find_libraries(examined: Examined) -> Iterator[Defect]:
    """Check that the other libraries that an import loads are there, if those of the system were found."""
    has_libc = any(name.startswith("libc.") for name in examined.libraries)

    def is_found(library: str, user: SharedObject) -> bool:
        return _is_shared(library, examined.environment) or examined.has(library, user)

    for wheel in examined.by_project.values():
        if not has_libc or is_reserved(wheel.distribution.project) or not _concerns_torch(wheel):
            continue
        lost = lost_on_import(wheel.code, is_found)
        if lost and wheel.distribution.folder:
            names = some_of([f"{name} ({user})" for name, user in lost.items()])
            place = wheel.distribution.folder.parent / next(iter(lost.values()))
            yield replace(against(wheel, DefectCode.LIBRARY, f"{_NOWHERE}: {names}"), place=place)


def search_paths_are_safe(examined: Examined) -> Iterator[Defect]:
    """Check that no library is looked for in the working folder, or where every user of this machine may write."""
    for wheel in examined.by_project.values():
        if is_reserved(wheel.distribution.project):
            continue
        folders = {folder: so.name for so in wheel.code for folder in so.folders_outside if _is_open(folder)}
        if folders:
            named = some_of([f"{folder or 'the working folder'} ({name})" for folder, name in folders.items()])
            yield against(wheel, DefectCode.SEARCH_PATH, f"looks for libraries where others may put them: {named}")


def _is_open(folder: str) -> bool:
    """True if the working folder decides, or others may make the folder or write to it."""
    if not folder.startswith("/"):
        return not folder.startswith("$")
    # Unlike `Path.exists`, this is False for a closed folder and a name that is too long.
    nearest = next(each for each in (Path(folder), *Path(folder).parents) if os.path.exists(each))  # noqa: PTH110
    return bool(nearest.stat().st_mode & stat.S_IWOTH)


def _is_shared(library: str, environment: TargetEnvironment) -> bool:
    """True if the library is torch's, CUDA's or the driver's."""
    return is_of_toolkit(library) or is_provided(library, environment.torch, environment.platform.machine)


def one_runtime_is_installed(examined: Examined) -> Iterator[Defect]:
    """Check for a second CUDA major: torch does not use it, it takes gigabytes, and it conflicts if it is loaded."""
    runtimes = {name: who for name, who in examined.providers.items() if name.startswith(_RUNTIME)}
    cuda = examined.environment.cuda
    if len({name.removeprefix(_RUNTIME).partition(".")[0] for name in runtimes}) < 2:  # noqa: PLR2004 - two
        return
    for name, project in runtimes.items():
        (major,) = cuda_majors_of(name) or (0,)
        if cuda is None or major != cuda.major:
            users = sorted(
                user for user, installed in examined.by_project.items() if name in installed.needed and user != project
            )
            torch = f"torch is for CUDA {cuda}" if cuda else "no torch says which one is meant"
            detail = f"{name} of {project} is installed beside another CUDA's: {torch}; "
            detail += f"{some_of(users)} needs it" if users else "nothing here is linked to it"
            yield against(examined.by_project[project], DefectCode.RUNTIMES, detail)


def _python_of(suffix: str) -> PythonVersion | None:
    try:
        return PythonVersion.parse(suffix.partition("-")[0])
    except ValueError:
        return None
