"""Whether a wheel is what a target asks for, by its file name and its provenance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.tags import Tag
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from wheelmill.build.inside import bill_for, facts_of, source_facts, with_compilers
from wheelmill.build.provenance import Provenance
from wheelmill.build.source import copy_folder, sha256_of_tree
from wheelmill.config.model import LockedSdist
from wheelmill.errors import UnreadableError
from wheelmill.names import Platform, PythonVersion, Sha256
from wheelmill.plan.targets import BuildTarget, Cell
from wheelmill.smoke.evidence import Contents
from wheelmill.system.files import sha256_of, sha256_of_bytes
from wheelmill.system.folders import temporary_folder
from wheelmill.wheel.archive import open_archive, read_member
from wheelmill.wheel.build_facts import BUILD_FACTS, MAX_BUILD_FACTS, MAX_SBOM, OWN_SBOM, SBOMS, read_build_facts
from wheelmill.wheel.libraries import is_bundled
from wheelmill.wheel.name import WheelName
from wheelmill.wheel.platforms import tag_places


def is_named_for(name: WheelName, cell: Cell, pythons: Iterable[PythonVersion]) -> bool:
    """Whether a file name is that of a wheel for a cell, with tags that every Python it is for accepts."""
    if (name.project, name.version) != (cell.project, cell.label.on(cell.version)):
        return False
    if {Platform.of_tag(platform) for platform in name.platforms} != {cell.platform}:
        return False
    tags = {Tag(tag.interpreter, tag.abi, str(cell.platform)) for tag in name.tags}
    return all(tags & tag_places(python, cell.platform, None).keys() for python in (cell.python, *pythons))


def is_wheel_of(name: WheelName, target: BuildTarget) -> bool:
    """Whether a file name is what a target's build must produce, whatever its build number and policy."""
    own = target.cell.python
    abi = own.abi if target.package.abi == "cpython" else target.package.abi
    if {tag.abi for tag in name.tags} != {abi}:
        return False
    if target.package.abi == "cpython" and {tag.interpreter for tag in name.tags} != {own.interpreter}:
        return False
    return is_named_for(name, target.cell, target.pythons)


def differences(target: BuildTarget, provenance: Provenance) -> Iterator[str]:
    """Name the values of a provenance that are not as planned."""
    planned = (
        ("cell", target.cell, provenance.cell),
        ("Python", target.pythons, provenance.pythons),
        ("list of GPU architectures", target.architectures, provenance.architectures),
        ("torch", target.torch_release, provenance.torch_release),
        ("GPUs that torch speaks of", target.gpus, provenance.gpus),
        ("C++ standard", target.cxx_standard, provenance.cxx_standard),
        ("flags of nvcc", target.nvcc_flags, provenance.nvcc_flags),
        ("oldest driver", target.driver, provenance.driver),
        ("patches", tuple(sha256_of(patch) for patch in target.package.patches), provenance.patches),
        ("system packages", target.package.system_packages, provenance.system_packages),
        ("changes of the requirements", target.package.requires_dist, provenance.requires_dist),
        ("expectations", target.package.expectations, provenance.expectations),
        ("source", _sha256_of_source(target) or provenance.source_sha256, provenance.source_sha256),
    )
    if provenance.source and provenance.source != source_facts(target.source, provenance.source_sha256):
        yield "commit or file of the source"
    yield from (word for word, wanted, said in planned if wanted != said)
    locked = [Requirement(each.requirement) for each in target.requirements or ()]
    for pinned in provenance.build_environment:
        project, _, version = pinned.partition("==")
        pins = [each.specifier for each in locked if canonicalize_name(each.name) == canonicalize_name(project)]
        if pins and not any(_is_in(pin, version) for pin in pins):
            yield f"version of {project} in the build, which packages.lock pins"


def tells_otherwise(contents: Contents, target: BuildTarget, provenance: Provenance) -> str | None:
    """Name the file in a wheel that contradicts the plan or the provenance beside the wheel.

    Args:
        contents: the wheel, whose bytes were examined.
        target: what was planned.
        provenance: what is said of its build, which was compared with the plan.

    Returns:
        None if there is none, as in wheels of earlier versions of wheelmill, which have no such files.
    """
    facts_file, bill_file = (f"{contents.dist_info}/{name}" for name in (BUILD_FACTS, f"{SBOMS}/{OWN_SBOM}"))
    names = {member.filename for member in contents.members}
    wanted = facts_of(
        target,
        source_sha256=provenance.source_sha256,
        toolkit=provenance.toolkit,
        packages=dict(pinned.split("==", 1) for pinned in provenance.build_environment if "==" in pinned),
        images=provenance.images,
    )
    with contents.file.path.open("rb") as file, open_archive(file) as archive:
        try:
            if facts_file not in names:
                return bill_file if bill_file in names else None
            told = read_build_facts(read_member(archive, facts_file, MAX_BUILD_FACTS))
            if told != replace(with_compilers(wanted, contents.shared_objects), wheelmill=told.wheelmill):
                return facts_file
            bundled = {name: sha256_of_bytes(archive.read(name)) for name in names if is_bundled(name)}
            bill = bill_for(
                told, target.package, metadata=contents.metadata_file, code=contents.shared_objects, bundled=bundled
            )
            said = read_member(archive, bill_file, MAX_SBOM) if bill_file in names else b""
        except UnreadableError:
            return facts_file
    return None if said == bill else bill_file


def _is_in(versions: SpecifierSet, version: str) -> bool:
    try:
        return versions.contains(Version(version), prereleases=True)
    except InvalidVersion:
        return False


def _sha256_of_source(target: BuildTarget) -> Sha256 | None:
    """The hash of a target's source; None for a commit, whose files are not here."""
    match target.source:
        case LockedSdist(sha256=sha256):
            return sha256
        case Path() as folder:
            with temporary_folder() as place:
                copy = place / folder.name
                copy_folder(folder, copy)
                return sha256_of_tree(copy)
        case _:
            return None
