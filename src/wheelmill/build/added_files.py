"""Files added to a wheel: licences, build facts and a bill of materials (PEP 639, PEP 770)."""

from __future__ import annotations

import importlib.metadata
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from wheelmill.build.environment import decisive_variables
from wheelmill.config.model import LockedCommit, LockedSdist, Package
from wheelmill.errors import BuildError, UnreadableError
from wheelmill.names import Sha256
from wheelmill.plan.targets import BuildTarget, Source
from wheelmill.system.files import sha256_of, sha256_of_bytes
from wheelmill.wheel.build_facts import (
    BUILD_FACTS,
    OWN_SBOM,
    SBOMS,
    AppliedPatch,
    BuildFacts,
    SourceFacts,
    build_facts_bytes,
)
from wheelmill.wheel.libraries import is_bundled
from wheelmill.wheel.metadata import LICENCES, is_licence_file, licence_files, licence_in, read_fields
from wheelmill.wheel.shared_objects import SharedObject, read_folder

_LARGEST_LICENCE: Final = 1 << 20
"""Bytes of a licence file; the longest, with the notices of everything they bring along, have a tenth of it."""


def facts_of(
    target: BuildTarget,
    *,
    source_sha256: Sha256,
    toolkit: str,
    packages: Mapping[str, str],
    images: tuple[str, ...],
) -> BuildFacts:
    """Gather the build facts of a wheel.

    ``source_sha256`` is the hash of the source before patches, and ``toolkit`` the CUDA toolkit release. ``packages``
    has the version of every distribution in the build environment, by name; ``images`` the base images of the
    container.
    """
    cell, package = target.cell, target.package
    wanted = package.system_packages
    return BuildFacts(
        wheelmill=importlib.metadata.version("wheelmill"),
        project=cell.project,
        version=cell.version,
        python=str(cell.python),
        pythons=tuple(map(str, target.pythons)),
        platform=str(cell.platform),
        source=source_facts(target.source, source_sha256),
        patches=tuple(AppliedPatch(file=patch.name, sha256=sha256_of(patch)) for patch in package.patches),
        licence=package.licence,
        on_package_index=package.elsewhere == "same" and not isinstance(target.source, Path),
        cuda=str(cell.cuda),
        toolkit=toolkit,
        torch=target.torch_release,
        architectures=tuple(map(str, target.architectures)),
        driver=target.driver,
        cxx_standard=target.cxx_standard,
        variables=dict(sorted(decisive_variables(target).items())),
        build_args=tuple(f"{name}={value}" for name, value in dict(package.build_args.config_settings).items()),
        build_requirements=tuple(f"{name}=={version}" for name, version in packages.items()),
        system_packages=tuple(dict.fromkeys((*(wanted.dnf or ()), *(wanted.apt or ())))) if wanted else (),
        images=images,
    )


def source_facts(source: Source, sha256: Sha256) -> SourceFacts:
    """Describe the source of a target for its wheel; ``sha256`` is its hash before patches."""
    match source:
        case LockedSdist(sdist=sdist):
            return SourceFacts(kind="sdist", sha256=sha256, sdist=sdist)
        case LockedCommit() as locked:
            return SourceFacts(
                kind="commit",
                sha256=sha256,
                repository=locked.git if locked.git.startswith("https:") else None,
                commit=locked.commit,
                ref=locked.ref,
                subdirectory=locked.subdirectory,
            )
        case _:
            return SourceFacts(kind="folder", sha256=sha256)


def write_inside(facts: BuildFacts, target: BuildTarget, source: Path, unpacked: Path, dist_info: Path) -> None:
    """Add licences of the patched ``source``, build facts and a bill of materials to a wheel; RECORD comes later."""
    try:
        code = read_folder(unpacked)
    except UnreadableError as error:
        raise BuildError("build-failed", f"{target.cell.id}: {error}") from None
    if not licence_files((path.relative_to(unpacked).as_posix() for path in dist_info.rglob("*")), dist_info.name):
        _copy_licences(dict.fromkeys((source / target.subdirectory, source)), dist_info / LICENCES)
    told = with_compilers(facts, code)
    members = {path.relative_to(unpacked).as_posix(): path for path in unpacked.rglob("*") if path.is_file()}
    bill = bill_for(
        told,
        target.package,
        metadata=(dist_info / "METADATA").read_bytes(),
        code=code,
        bundled={name: sha256_of(path) for name, path in members.items() if is_bundled(name)},
    )
    try:
        (dist_info / BUILD_FACTS).write_bytes(build_facts_bytes(told))
        (dist_info / SBOMS).mkdir(exist_ok=True)
        (dist_info / SBOMS / OWN_SBOM).write_bytes(bill)
    except (FileExistsError, IsADirectoryError) as error:
        name = Path(error.filename).name
        raise BuildError(
            "wheel-replaced", f"{target.cell.id}: its build backend put something else in the place of {name}"
        ) from None


def with_compilers(facts: BuildFacts, code: Iterable[SharedObject]) -> BuildFacts:
    """Add the compilers that left their names in the machine code to the facts."""
    return replace(facts, compilers=tuple(sorted({text for each in code for text in each.compilers})))


def bill_for(
    facts: BuildFacts,
    package: Package,
    *,
    metadata: bytes,
    code: Iterable[SharedObject],
    bundled: Mapping[str, Sha256],
) -> bytes:
    """Write the bill of materials of a wheel, reproducible from the wheel and the plan.

    ``metadata`` is the wheel's METADATA; ``bundled`` has the hashes of the libraries that were copied into it.
    """
    from wheelmill.wheel.bill_of_materials import Bill, BundledLibrary, bill_bytes  # half a second

    fields = read_fields(metadata)
    return bill_bytes(
        Bill(
            project=package.name,
            version=fields["version"],
            contents=sha256_of_bytes(build_facts_bytes(facts) + metadata),
            licence=licence_in(fields),
            facts=facts,
            patches=tuple(patch.read_bytes() for patch in package.patches),
            bundled=tuple(BundledLibrary(member=name, sha256=bundled[name]) for name in sorted(bundled)),
            holds_cuda_runtime=any(each.holds_cuda_runtime for each in code),
        )
    )


def _copy_licences(folders: Mapping[Path, None], destination: Path) -> None:
    """Copy licence files that the build backend left out, as most licences ask for.

    Of files of one name, the first of ``folders`` wins. ``destination`` is the folder ``licenses`` of the
    ``.dist-info``.
    """
    for folder in folders:
        for path in sorted(folder.iterdir()):
            is_small_file = path.is_file() and not path.is_symlink() and path.stat().st_size <= _LARGEST_LICENCE
            if is_small_file and is_licence_file(path.name) and not (destination / path.name).exists():
                destination.mkdir(exist_ok=True)
                shutil.copyfile(path, destination / path.name)
