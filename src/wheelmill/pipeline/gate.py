"""Gate before a release; it trusts no build job.

A job delivers a wheel and a certificate, and both may be forged. So the wheel's file name must be one of the plan, and
its provenance must be as planned. The bytes are examined again here, where no foreign code runs, and only this evidence
is released. Only the import, the duration of the build and the packages installed for it remain the job's word.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.tags import Tag
from packaging.utils import canonicalize_name

from wheelmill.build.builder import bill_for, facts_of, source_facts, with_compilers
from wheelmill.build.provenance import Provenance, planned_values
from wheelmill.build.source import copy_folder, sha256_of_tree
from wheelmill.config.model.files import LockedSdist
from wheelmill.errors import IntegrityError, ReleaseError, UnreadableError
from wheelmill.names import Platform, PythonVersion, Sha256, version_or_none
from wheelmill.plan.targets import BuildTarget, Cell
from wheelmill.release.store import RefusedWheel
from wheelmill.smoke.evidence import Contents
from wheelmill.smoke.examine import examine_bytes
from wheelmill.smoke.verdict import GPU_SUFFIX, Certificate, TestedWheel, certificate_path, tested_wheel_at
from wheelmill.system.files import sha256_of, sha256_of_bytes
from wheelmill.system.folders import temporary_folder
from wheelmill.system.records import read_record
from wheelmill.web.pages import SIDECAR_SUFFIX
from wheelmill.wheel.archive import open_archive, read_member
from wheelmill.wheel.attestation import Attested
from wheelmill.wheel.build_facts import BUILD_FACTS, MAX_BUILD_FACTS, MAX_SBOM, OWN_SBOM, SBOMS, read_build_facts
from wheelmill.wheel.libraries import is_bundled
from wheelmill.wheel.metadata import metadata_bytes, reservation
from wheelmill.wheel.name import WheelName
from wheelmill.wheel.platforms import tag_places


def is_named_for(name: WheelName, cell: Cell, pythons: Iterable[PythonVersion]) -> bool:
    """True if a file name is that of a wheel for a cell, with tags that every Python it is for accepts."""
    if (name.project, name.version) != (cell.project, cell.label.on(cell.version)):
        return False
    if {Platform.of_tag(platform) for platform in name.platforms} != {cell.platform}:
        return False
    tags = {Tag(tag.interpreter, tag.abi, str(cell.platform)) for tag in name.tags}
    return all(tags & tag_places(python, cell.platform, None).keys() for python in (cell.python, *pythons))


def is_wheel_of(name: WheelName, target: BuildTarget) -> bool:
    """True if a file name is one that a target's build must produce, with any build number and policy."""
    own = target.cell.python
    abis = {"abi3", "abi3t"} if target.abi == "abi3t" else {target.abi}  # code for abi3t runs with a GIL too (PEP 803)
    if target.abi not in (named := {tag.abi for tag in name.tags}) or not named <= abis:
        return False
    if target.package.abi == "cpython" and {tag.interpreter for tag in name.tags} != {own.interpreter}:
        return False
    return is_named_for(name, target.cell, target.pythons)


def differences(target: BuildTarget, provenance: Provenance) -> Iterator[str]:
    """Name the keys of a provenance that differ from the plan."""
    planned = planned_values(target)
    if source_sha256 := _sha256_of_source(target):
        planned["source_sha256"] = source_sha256
    if provenance.source:
        planned["source"] = source_facts(target.source, provenance.source_sha256)
    yield from (key for key, value in planned.items() if value != getattr(provenance, key))
    locked = [Requirement(each.requirement) for each in target.requirements or ()]
    for pinned in provenance.build_environment:
        project, _, version = pinned.partition("==")
        pins = [each.specifier for each in locked if canonicalize_name(each.name) == canonicalize_name(project)]
        if pins and not any(_is_in(pin, version) for pin in pins):
            yield f"version of {project} in the build, which packages.lock pins"


def contradicting_file(contents: Contents, target: BuildTarget, provenance: Provenance) -> str | None:
    """Return the file in a wheel that contradicts the plan or the provenance beside it; None if there is none.

    Wheels of earlier versions of wheelmill have no such files. The provenance was compared with the plan before.
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
    read = version_or_none(version)
    return read is not None and versions.contains(read, prereleases=True)


def _sha256_of_source(target: BuildTarget) -> Sha256 | None:
    """Return the hash of a target's source; None if it is a commit, whose files are not on this machine."""
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


@dataclass(frozen=True, kw_only=True)
class GpuTrials:
    """Certificates from a machine with a GPU, which launched kernels of delivered wheels."""

    platform: Platform
    """The platform of the machine; wheels for others need no such certificate."""
    paths: Sequence[Path]

    def add_to(self, wheel: TestedWheel, attested: Attested | None) -> TestedWheel:
        """Add that machine's clean environments to the certificate of a wheel that passed elsewhere.

        Certificates that are not in ``attested`` are ignored; None if no attestation is required.
        """
        if all(Platform.of_tag(name) != self.platform for name in WheelName.parse(wheel.file.filename).platforms):
            return wheel
        wanted = certificate_path(wheel.file.path, GPU_SUFFIX).name
        for path in (path for path in self.paths if path.name == wanted):
            if attested and (wanted, sha256_of(path)) not in attested.files:
                continue
            if (said := read_record(path, Certificate)).sha256 == wheel.file.sha256:
                rooms = (*wheel.certificate.clean_rooms, *said.clean_rooms)
                return replace(wheel, certificate=replace(wheel.certificate, clean_rooms=rooms), gpu_certificate=path)
        raise ReleaseError(
            "gpu-test-failed", "did not pass on a machine with a GPU: the job 'gpu' of its group says why"
        )


@dataclass(frozen=True, kw_only=True)
class Gate:
    """Requirements that a wheel must meet to be released."""

    targets: Sequence[BuildTarget] | None = None
    """Planned targets; None only requires that a wheel is consistent."""
    attested: Attested | None = None
    """Attested files; None requires no attestation."""
    tried: GpuTrials | None = None
    """The certificates of a machine with a GPU; None requires none."""
    max_size: int | None = None
    """Bytes that it must stay under where it will be released; None sets no limit."""

    def admit(self, paths: Iterable[Path]) -> tuple[tuple[TestedWheel, ...], tuple[RefusedWheel, ...]]:
        """Examine delivered wheels by their certificates; returns those to release, with new evidence, and refusals."""
        admitted: list[TestedWheel] = []
        refused: list[RefusedWheel] = []
        for path in paths:
            try:
                is_file = path.is_file() and not path.is_symlink()
                # Before more of it is read.
                if self.attested and is_file and (path.name, sha256_of(path)) not in self.attested.files:
                    reason = f"is not attested by {self.attested.signer}"
                    refused.append(RefusedWheel(filename=path.name, code="not-attested", reason=reason, unsigned=True))
                else:
                    admitted.append(self._examine(path))
            except (ReleaseError, IntegrityError) as error:
                refused.append(RefusedWheel(filename=path.name, code=error.code, reason=str(error)))
            except OSError as error:
                refused.append(RefusedWheel(filename=path.name, code="file-failed", reason=str(error)))
        distinct = {(wheel.file.filename, wheel.file.sha256): wheel for wheel in admitted}
        count = Counter(filename for filename, _ in distinct)
        twins = [name for name in count if count[name] > 1]
        reason = "was delivered with different bytes"
        refused += [RefusedWheel(filename=name, code="delivered-twice", reason=reason) for name in twins]
        return tuple(wheel for wheel in distinct.values() if wheel.file.filename not in twins), tuple(refused)

    def _examine(self, path: Path) -> TestedWheel:
        if path.is_symlink() or not path.is_file():
            raise ReleaseError("not-a-file", "is not a regular file")
        tested = tested_wheel_at(path)
        if tested is None:
            raise ReleaseError("not-tested", f"was not tested: run 'wheelmill smoke {path}' first")
        made = tested.certificate.provenance
        target = self._compare(path.name, made)
        contents, verdict = examine_bytes(tested.file, made, max_size=self.max_size)
        if verdict.evidence is None or not verdict.ok:
            raise ReleaseError("smoke-refused", str(verdict).removeprefix(f"{path.name} "))
        if target and made and contents and (file := contradicting_file(contents, target, made)):
            raise ReleaseError("facts-differ", f"was not built as planned: {file} in it says something else")
        findings = tuple(dict.fromkeys((*verdict.findings, *tested.certificate.findings)))
        certificate = replace(tested.certificate, evidence=verdict.evidence, sizes=verdict.sizes)
        tested = replace(tested, certificate=replace(certificate, findings=findings))
        if self.tried:
            tested = self.tried.add_to(tested, self.attested)
        return replace(tested, bundles=self._bundles_of(tested))

    def _bundles_of(self, wheel: TestedWheel) -> tuple[bytes, ...]:
        if self.attested is None:
            return ()
        subjects = subjects_of(wheel)
        if missing := [name for name, sha256 in subjects if (name, sha256) not in self.attested.files]:
            raise ReleaseError(
                "not-attested", f"cannot be released: {self.attested.signer} does not attest {', '.join(missing)}"
            )
        return tuple(dict.fromkeys(self.attested.files[subject] for subject in subjects))

    def _compare(self, filename: str, provenance: Provenance | None) -> BuildTarget | None:
        """Compare a wheel's name and provenance with its planned target, which is returned, or with each other."""
        try:
            name = WheelName.parse(filename)
        except ValueError as error:
            raise ReleaseError("file-name-not-a-wheel", f"does not have the file name of a wheel: {error}") from None
        if reason := reservation(name.project):
            raise ReleaseError("name-reserved", f"cannot be released: {reason}")
        if provenance and provenance.sample:
            raise ReleaseError("sample", "is a sample: build it without --sample, --arch and --here to release it")
        if self.targets is None:
            if provenance and not is_named_for(name, provenance.cell, provenance.pythons):
                message = f"is not a wheel of {provenance.cell.id}, which it was built for as its certificate says"
                raise ReleaseError("cell-differs", message)
            return None
        target = next((target for target in self.targets if is_wheel_of(name, target)), None)
        if target is None or name.filename != filename:  # one wheel must not have two spellings of its name
            raise ReleaseError("not-planned", "is not in the plan")
        if provenance is None:
            raise ReleaseError("no-provenance", "has a certificate that does not say how it was built")
        if wrong := ", ".join(differences(target, provenance)):
            raise ReleaseError("not-as-planned", f"was not built as planned: its certificate differs in {wrong}")
        return target


def delivered_in(directory: Path, suffix: str) -> list[Path]:
    """List the files with a suffix in a folder, and in its direct subfolders, one for each job."""
    return sorted([*directory.glob(f"*.{suffix}"), *directory.glob(f"*/*.{suffix}")])


def subjects_of(wheel: TestedWheel) -> Sequence[tuple[str, Sha256]]:
    """Return the names and hashes to attest of a readable wheel: of its file, its sidecar and its certificates.

    Installers read the sidecar alone to find out what else to install (PEP 658). The certificate has facts that only
    the build knows, and jobs of other groups could replace it.
    """
    file = wheel.file
    certificates = (certificate_path(file.path), *([wheel.gpu_certificate] if wheel.gpu_certificate else []))
    return (
        (file.filename, file.sha256),
        (file.filename + SIDECAR_SUFFIX, sha256_of_bytes(metadata_bytes(file.path))),
        *((each.name, sha256_of(each)) for each in certificates),
    )
