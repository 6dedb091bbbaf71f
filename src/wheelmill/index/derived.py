"""Wheels of an index that are derived from others: aliases, and trees of variant wheels.

An alias names a CUDA major in its project or in an extra. ``demo-cu13`` has the versions of the wheels for CUDA 13,
stands in the same trees, and requires each wheel by its label. ``demo-gpu`` has an extra for each CUDA major, which
requires the former. docs/what-an-index-has.md has their limits.

Variant wheels have trees of their own, so an installer that does not know the draft never sees them. Torch is in their
address, as ``torch2.11/variants/simple``, since uv ignores variants for a certain torch (``abi_dependency`` of PEP
850). The CUDA is not: the installer chooses it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain, groupby
from operator import attrgetter
from typing import Final

from msgspec import structs
from packaging.version import Version

from wheelmill.config.model.package import Package
from wheelmill.config.model.package_parts import with_suffix
from wheelmill.errors import SiteError, UnreadableError
from wheelmill.index.collect import Folders, file_of, folder_of
from wheelmill.index.render import tree_pages
from wheelmill.index.tree import ALIASES, VARIANTS, IndexFile, Site, Tree, VersionFiles, contradictions, faults_of_entry
from wheelmill.index.write import Page
from wheelmill.names import ProjectName, ReleaseTag, Sha256, TorchVersion
from wheelmill.release.manifest.record import ListedRelease, ListedWheel
from wheelmill.system.files import sha256_of_bytes
from wheelmill.system.progress import Warn
from wheelmill.wheel.name import EXTRAS, AliasWheel, VariantWheelName, variants_filename
from wheelmill.wheel.variant import NULL_VARIANT, Variant, metadata_of, variant_metadata_bytes, variant_name

_REPLACED: Final = "there are wheels for another CUDA major since"


@dataclass(frozen=True, kw_only=True)
class Aliased:
    """Site with the aliases of its wheels."""

    site: Site
    """Site whose trees list them beside the wheels."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Their bytes, by their paths below the root of the site."""


@dataclass(frozen=True, kw_only=True)
class _Alias:
    wheel: AliasWheel
    beside: Sequence[VersionFiles]
    """Wheels of the alias, which is in every tree that has one of them."""
    since: datetime
    """When it was first listed."""
    is_old: bool = False
    """True if a later one has replaced it."""


def with_aliases(site: Site, packages: Mapping[ProjectName, Package]) -> Aliased:
    """Put the aliases of packages into every tree of a site, beside the wheels that they stand for.

    The site is one of releases: the publication times of its wheels decide which aliases exist.
    """
    files: dict[str, bytes] = {}
    beside: dict[VersionFiles, list[VersionFiles]] = defaultdict(list)
    statuses = dict(site.statuses)
    for package in packages.values():
        for alias in _aliases_of(package, site.versions.get(package.name, ())):
            if (name := alias.wheel.project) in site.versions:
                message = f"{name} is an alias of {package.name}, and has wheels of its own"
                hint = "give the extras another name, or take the wheels out with removed.yml"
                raise SiteError("alias-has-wheels", message, hint=hint)
            content = alias.wheel.content
            folder = f"{ALIASES}/{name}/"
            files[folder + alias.wheel.name.filename] = content
            listed = VersionFiles((_index_file(alias, folder, content),))
            for version in alias.beside:
                beside[version].append(listed)
            if package.name in statuses:
                statuses[name] = statuses[package.name]
    trees = tuple(_with_aliases(tree, beside) for tree in site.trees) if files else site.trees
    return Aliased(site=replace(site, trees=trees, statuses=statuses), files=files)


def _with_aliases(tree: Tree, beside: Mapping[VersionFiles, Sequence[VersionFiles]]) -> Tree:
    aliases: dict[ProjectName, dict[VersionFiles, None]] = defaultdict(dict)
    for version in chain.from_iterable(tree.versions.values()):
        for alias in beside.get(version, ()):
            aliases[alias.name.project][alias] = None
    added = {project: tuple(sorted(own, key=attrgetter("name.filename"))) for project, own in aliases.items()}
    return replace(tree, versions=dict(sorted({**tree.versions, **added}.items())))


def _index_file(alias: _Alias, folder: str, content: bytes) -> IndexFile:
    """Return the index entry of an alias, yanked if all its wheels are: its pin would take yanked wheels, too."""
    reasons = [_REPLACED if alias.is_old else file.yanked for version in alias.beside for file in version.files]
    return IndexFile(
        name=alias.wheel.name,
        filename=alias.wheel.name.filename,
        folder=folder,
        sha256=sha256_of_bytes(content),
        size=len(content),
        requires_python=alias.wheel.requires_python,
        requires_dist=alias.wheel.requires_dist,
        uploaded_at=alias.since,
        yanked=None if None in reasons else reasons[0],
    )


def _aliases_of(package: Package, versions: Sequence[VersionFiles]) -> Iterator[_Alias]:
    if package.aliases is None:
        return
    labelled = [(version, label.cuda.major) for version in versions if (label := version.name.label)]
    equal: dict[tuple[Version, int], list[VersionFiles]] = defaultdict(list)
    for version, major in labelled:
        equal[version.name.version, major].append(version)
    for (_, major), beside in equal.items():
        first = _first_published(beside)
        project, exact = first.name.project, first.name.version
        wheel = AliasWheel(  # demo-cu13 1.0+cu130torch2.11 requires exactly this version of demo
            project=with_suffix(project, major),
            version=exact,
            summary=f"{project} for CUDA {major}: requires {project} {exact}",
            requires_python=first.files[0].requires_python,
            requires_dist=(f"{project}=={exact}",),
        )
        yield _Alias(wheel=wheel, beside=beside, since=_since(first))
    if package.aliases.extras:
        released = [each for each in labelled if not each[0].files[0].is_for_candidate]
        yield from _with_extras(package.aliases.extras, released)


def _with_extras(extras: ProjectName, labelled: Sequence[tuple[VersionFiles, int]]) -> Iterator[_Alias]:
    """Yield aliases such as ``demo-gpu 1.0+extras.13.12``, with an extra for every CUDA major of any version.

    Installers ignore an extra that a version lacks, and install nothing for it. So every version has all extras, even
    without a wheel for them. Aliases from before a CUDA major was added stay listed for users who pinned them.
    `labelled` has the wheels for releases of torch, with the CUDA major of each.
    """
    numbers: dict[Version, list[VersionFiles]] = defaultdict(list)
    first: dict[int, datetime] = {}
    for version, major in labelled:
        numbers[Version(version.name.version.public)].append(version)
        first[major] = min(first.get(major, _since(version)), _since(version))
    for beside in numbers.values():
        earliest = _first_published(beside)
        since, project, number = _since(earliest), earliest.name.project, earliest.name.version.public
        moments = sorted({max(moment, since) for moment in first.values()})
        for moment in moments:
            majors = sorted((major for major in first if first[major] <= moment), reverse=True)
            wheel = AliasWheel(
                project=extras,
                # The newest CUDA is first, so that a version with more of them is higher.
                version=Version(f"{number}+{EXTRAS}.{'.'.join(map(str, majors))}"),
                summary=f"{project} {number}, with an extra for each CUDA major",
                # A range of one version: ``==`` would take yanked wheels (PEP 592).
                requires_dist=tuple(
                    f'{with_suffix(project, major)}<={number},>={number}; extra == "cuda{major}"' for major in majors
                ),
                extras=tuple(f"cuda{major}" for major in majors),
            )
            yield _Alias(wheel=wheel, beside=beside, since=moment, is_old=moment != moments[-1])


def _first_published(equal: Iterable[VersionFiles]) -> VersionFiles:
    """Return the first published of equal versions, such as 1.0 and 1.0.0: the alias takes its spelling.

    Aliases for both spellings would be the same wheel to installers. When another spelling is added, the alias keeps
    its file name, so lock files stay valid.
    """
    return min(equal, key=_since)


def _since(version: VersionFiles) -> datetime:
    return min(file.uploaded_at for file in version.files if file.uploaded_at)


@dataclass(frozen=True, kw_only=True)
class VariantFile:
    """Variant wheel as an index lists it."""

    file: IndexFile
    variant: Variant


def variant_files(
    manifests: Iterable[ListedRelease],
    base_url: str,
    plain: Site,
    *,
    folders: Folders,
    absent: Mapping[ReleaseTag, Container[str]],
    warn: Warn,
) -> tuple[VariantFile, ...]:
    """Find the variants of the wheels that an index lists; a variant is yanked with its plain wheel.

    Variants of a version must have the same requirements, since uv reads one METADATA for all. A version whose CUDAs
    require different things has no variants; `warn` receives it. The other arguments are as in `site_of_releases`.
    """
    listed = {file.sha256: file for file in chain.from_iterable(plain.files.values())}
    variants: dict[str, VariantFile] = {}
    faults: list[str] = []
    for manifest in manifests:
        for entry in manifest.wheels:
            if entry.plain is None or (made_of := listed.get(entry.plain)) is None:
                continue
            try:
                name = VariantWheelName.parse(entry.filename)
                variant = _variant_of(name, entry, made_of)
                wrong = faults_of_entry(entry, name.plain, absent.get(manifest.tag, ()))
            except ValueError as error:
                wrong = [str(error)]
            else:
                folder = folder_of(entry, manifest, base_url, folders)
                file = file_of(entry, name.plain, manifest, folder, made_of.yanked)
                bare = structs.replace(file, certificate=None, attestation=None, provenance=None, external=None)
                first = variants.setdefault(entry.filename, VariantFile(file=bare, variant=variant))
                if first.file.sha256 != entry.sha256:
                    wrong = [*wrong, "another release has it with other bytes"]
            faults += [f"{manifest.tag}/{entry.filename}: {fault}" for fault in wrong]
    if faults:
        raise SiteError("variants-contradict", "\n".join(faults), hint="publish the variants again in another store")
    files = sorted(variants.values(), key=lambda each: (each.file.project, each.file.name.version, each.file.filename))
    return tuple(chain.from_iterable(_consistent(each, warn) for _, each in groupby(files, key=_project_and_version)))


def _project_and_version(wheel: VariantFile) -> tuple[ProjectName, Version]:
    return wheel.file.project, wheel.file.name.version


def _consistent(wheels: Iterable[VariantFile], warn: Warn) -> Sequence[VariantFile]:
    """Return the variants of a version, or none if they contradict each other."""
    of_version = [*wheels]
    if differing := next(contradictions([each.file for each in of_version]), None):
        warn(f"{of_version[0].file.project} {of_version[0].file.name.version} has no variants: {differing}")
        return ()
    return of_version


def _variant_of(name: VariantWheelName, entry: ListedWheel, plain: IndexFile) -> Variant:
    """Return the variant of a wheel; raise UnreadableError if its name, GPU code and plain wheel disagree."""
    label = plain.name.label
    if label is None or variant_name(plain.name, name.label).filename != entry.filename:
        raise UnreadableError("variant-of-another", f"it is not a variant of {plain.filename}, which it was made of")
    evidence = entry.certificate.evidence
    own = Variant.of(label.cuda, evidence.sass, evidence.ptx)
    variant = NULL_VARIANT if name.label == NULL_VARIANT.label else own
    if variant is None or variant.label != name.label:
        raise UnreadableError("variant-label-differs", "its label is not that of the GPU code in it")
    return variant


def pages_of_variants(files: Sequence[VariantFile], plain: Site, *, as_json: bool = True) -> Iterator[Page]:
    """Render the trees of variant wheels and the variants of each version, also as JSON if `as_json`."""
    torches = {torch for each in plain.torches.values() for torch in each}
    versions: dict[ProjectName, list[VersionFiles]] = defaultdict(list)
    trees: dict[str, dict[ProjectName, list[VersionFiles]]] = defaultdict(lambda: defaultdict(list))
    for (project, _), of_version in groupby(files, key=_project_and_version):
        wheels = [*of_version]
        content, listed = _list_of(wheels)
        yield f"{VARIANTS}/{project}/{listed.filename}", [content]
        version = VersionFiles((listed, *map(attrgetter("file"), wheels)))
        versions[project].append(version)
        for path in _paths_of(wheels[0].file, torches):
            trees[path][project].append(version)
    site = Site(
        trees=tuple(
            Tree(path=path, versions={project: tuple(listed) for project, listed in sorted(trees[path].items())})
            for path in sorted(trees)
        ),
        statuses=plain.statuses,
    )
    yield from tree_pages(site, versions, as_json=as_json)


def _list_of(wheels: Sequence[VariantFile]) -> tuple[bytes, IndexFile]:
    """Return the list of a version's variants, and its row on the page of the wheels."""
    name = wheels[0].file.name
    content = variant_metadata_bytes(metadata_of({each.variant.label: each.variant.properties for each in wheels}))
    filename = variants_filename(name.project, name.version)
    return content, IndexFile(
        name=structs.replace(name, build=(), tags=frozenset()),
        filename=filename,
        folder=f"{VARIANTS}/{name.project}/",
        sha256=Sha256(sha256_of_bytes(content)),
        size=len(content),
        requires_python=None,
        requires_dist=(),
        uploaded_at=max(each.file.uploaded_at for each in wheels if each.file.uploaded_at),
    )


def _paths_of(file: IndexFile, torches: Iterable[TorchVersion]) -> tuple[str, ...]:
    """Return the trees of a version: that of its torch, or those in its range and the one for any torch."""
    if isinstance(file.built_for.torch, TorchVersion):
        return (f"torch{file.built_for.torch}/{VARIANTS}",)
    return (VARIANTS, *(f"torch{torch}/{VARIANTS}" for torch in sorted(torches) if file.serves(torch)))
