"""Rules on what is installed. Each compares what was read with what would have to be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from packaging.version import InvalidVersion, Version

from wheelmill.client.choose.facts import minimum_driver
from wheelmill.client.choose.fit import mismatches_of_tags
from wheelmill.client.environment.doctor.defects import Defect, DefectCode
from wheelmill.client.environment.doctor.examined import Examined
from wheelmill.client.environment.doctor.inventory import Installed, needs_torch
from wheelmill.client.records import Aspect
from wheelmill.names import TORCH, CudaVersion, ProjectName
from wheelmill.wheel.findings import some_of
from wheelmill.wheel.label import BuiltFor

_OF_TAGS: Final = {
    Aspect.PYTHON: DefectCode.PYTHON,
    Aspect.PLATFORM: DefectCode.PLATFORM,
    Aspect.GLIBC: DefectCode.GLIBC,
}


def driver_is_new_enough(examined: Examined) -> Iterator[Defect]:
    """A driver runs the CUDA releases of its own time and older ones."""
    environment = examined.environment
    if environment.cuda:
        if needed := _newer_driver(environment.cuda, examined):
            yield Defect(
                code=DefectCode.DRIVER,
                subject=f"driver {environment.driver}",
                detail=f"CUDA {environment.cuda} needs {needed} or newer: update it, or take torch for an older CUDA",
            )
        return
    for each in examined.by_project.values():
        cuda = each.distribution.label.cuda
        if cuda and not needs_torch(each.distribution) and (needed := _newer_driver(cuda, examined)):
            detail = f"CUDA {cuda} needs driver {needed} or newer, and here is {environment.driver}"
            yield against(each, DefectCode.DRIVER, detail)


def _newer_driver(cuda: CudaVersion, examined: Examined) -> str | None:
    """The oldest driver that runs a CUDA release, where the one here is older."""
    driver = examined.environment.driver
    if driver is None or not examined.environment.platform.is_linux:
        return None
    needed = minimum_driver(cuda, examined.facts)
    return needed if needed and Version(driver) < Version(needed) else None


def torch_is_there(examined: Examined) -> Iterator[Defect]:
    """What is built against torch loads beside it only."""
    if examined.environment.torch is None:
        need = [
            str(name) for name, each in examined.by_project.items() if each.links_to_torch or each.distribution.torch
        ]
        need += [
            name for name, each in examined.by_project.items() if needs_torch(each.distribution) and name not in need
        ]
        if need:
            detail = f"is not installed, and {some_of(sorted(need))} cannot do without"
            yield Defect(code=DefectCode.TORCH_MISSING, subject="torch", detail=detail, project=TORCH)


def torch_has_cuda(examined: Examined) -> Iterator[Defect]:
    """A torch for processors alone, or for AMD's GPUs, lacks the libraries that CUDA wheels are linked to."""
    environment = examined.environment
    if not environment.cpu_only:
        return
    built = BuiltFor.of_installed(environment.torch_release or "").other_accelerator or "the CPU alone"
    for name, each in examined.by_project.items():
        asks = each.distribution.label.cuda_major is not None or any(
            "torch_cuda" in lib or "c10_cuda" in lib for lib in each.needed
        )
        if asks and name != TORCH and (each.links_to_torch or needs_torch(each.distribution)):
            yield against(
                each, DefectCode.TORCH_BUILD, f"built with CUDA, but torch {environment.torch_release} is for {built}"
            )


def torch_is_of_one_release(examined: Examined) -> Iterator[Defect]:
    """An upgrade that broke off leaves the files of one release and the METADATA of another."""
    torch, release = examined.by_project.get(TORCH), examined.environment.torch_release
    if torch is None or release is None:
        return
    try:
        is_one = Version(Version(release).base_version) == Version(Version(torch.distribution.version).base_version)
    except InvalidVersion:
        return
    if not is_one:
        yield against(torch, DefectCode.TORCH, f"its files say torch {release}: it is of two releases")


def modules_are_its_own(examined: Examined) -> Iterator[Defect]:
    """A ``torch.py`` in the folder where Python is started is imported in place of torch."""
    for each in examined.by_project.values():
        folder = each.distribution.folder
        if folder is None or not _concerns_torch(each):
            continue
        for module in _modules_of(each):
            found = examined.path.find(module)
            if found and found[1].parent.resolve() != folder.parent.resolve():
                where, path = found
                yield Defect(
                    code=DefectCode.IMPORT_PATH,
                    subject=_name_of(each),
                    detail=f"{path} is imported in place of its module {module}, because of {where.origin}",
                    project=each.distribution.project,
                    place=path,
                )


def files_are_as_installed(examined: Examined) -> Iterator[Defect]:
    """RECORD says which files there must be, and what is in them."""
    for each in examined.installed:
        if each.unreadable:
            yield against(each, DefectCode.METADATA, f"RECORD or WHEEL cannot be read: {each.unreadable}")
        if each.missing:
            all_of = len(each.missing) >= sum(bool(row.digest) and ".dist-info/" not in row.name for row in each.rows)
            whole = "all of its files are gone, as after a removal by hand" if all_of else ""
            yield against(each, DefectCode.MISSING_FILES, whole or f"gone: {some_of(each.missing)}")
        if each.changed:
            yield against(each, DefectCode.CHANGED_FILES, f"not as RECORD says: {some_of(each.changed)}")
        for name, reason in each.corrupt.items():
            yield against(each, DefectCode.CORRUPT, f"{name}: {reason}")
    for folder in examined.broken:
        yield Defect(
            code=DefectCode.METADATA,
            subject=folder.name,
            detail=f"{folder} is left of an installation or a removal that broke off",
            place=folder,
        )


def projects_are_installed_once(examined: Examined) -> Iterator[Defect]:
    """Of two versions in one environment, files of both may be imported."""
    seen: dict[ProjectName, str] = {}
    for each in examined.installed:
        project, version = each.distribution.project, each.distribution.version
        if seen.setdefault(project, version) != version:
            detail = f"{seen[project]} and {version} are both installed; uninstall both, then install one"
            yield Defect(code=DefectCode.DUPLICATE, subject=project, detail=detail, project=project)


def aliases_have_their_wheels(examined: Examined) -> Iterator[Defect]:
    """Of aliases for two CUDA majors, which installers put there one after the other, only one can be right."""
    for each in examined.by_project.values():
        alias = each.distribution
        if alias.stands_for is None:
            continue
        there = examined.by_project.get(alias.stands_for)
        if there is None:
            detail = f"stands for {alias.stands_for} {alias.version}, which is not installed"
            yield replace(against(each, DefectCode.ALIAS, detail), project=alias.stands_for)
        elif there.distribution.version != alias.version:
            found = f"{alias.stands_for} {there.distribution.version}"
            detail = f"stands for {alias.stands_for} {alias.version}, but {found} is installed"
            yield against(each, DefectCode.ALIAS, detail)


def wheels_are_for_this_python(examined: Examined) -> Iterator[Defect]:
    """The tags of a wheel name the Python, the system and the C library that it is for (PEP 425)."""
    for each in examined.by_project.values():
        yield from (
            against(each, _OF_TAGS[mismatch.aspect], f"its wheel {mismatch.reason}")
            for mismatch in (mismatches_of_tags(each.tags, examined.environment) if each.tags else ())
        )


def _concerns_torch(each: Installed) -> bool:
    named = each.distribution.label.cuda_major is not None
    return each.distribution.project == TORCH or named or each.links_to_torch or needs_torch(each.distribution)


def _modules_of(each: Installed) -> list[str]:
    """The names that it is imported by, whose files are all there."""
    names = [row.name for row in each.rows]
    packages = {name.partition("/")[0] for name in names if name.endswith("/__init__.py") and name.count("/") == 1}
    modules = {name.partition(".")[0] for name in names if "/" not in name and name.endswith((".py", ".so"))}
    return sorted(name for name in packages | modules if name.isidentifier())


def _name_of(each: Installed) -> str:
    return f"{each.distribution.project} {each.distribution.version}"


def against(each: Installed, code: DefectCode, detail: str) -> Defect:
    """A defect of something installed."""
    return Defect(code=code, subject=_name_of(each), detail=detail, project=each.distribution.project)
