"""Separate trees of variant wheels: an installer that does not know the draft never sees them.

Torch is in their address, as ``torch2.11/variants/simple``, since uv ignores variants for a certain torch
(``abi_dependency`` of PEP 850). The CUDA is not: the installer chooses it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from operator import attrgetter

from msgspec import structs
from packaging.version import Version

from wheelmill.errors import SiteError, UnreadableError
from wheelmill.index.collect import Folders, folder_of
from wheelmill.index.render import Page, site_templates, tree_pages
from wheelmill.index.tree import VARIANTS, IndexFile, Site, Tree, VersionFiles, contradictions, faults_of_entry
from wheelmill.names import ProjectName, ReleaseTag, Sha256, TorchVersion
from wheelmill.release.manifest import ListedRelease, ListedWheel
from wheelmill.system.files import sha256_of_bytes
from wheelmill.wheel.name import VariantWheelName, WheelName, variants_filename
from wheelmill.wheel.variant import NULL_VARIANT, Variant, metadata_of, variant_metadata_bytes, variant_name


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
    warn: Callable[[str], None],
) -> tuple[VariantFile, ...]:
    """Find the variants of the wheels that an index lists; a variant is yanked with its plain wheel.

    Variants of a version must have the same requirements, since uv reads one METADATA for all. A version whose CUDAs
    require different things has no variants; `warn` receives it. `base_url` is the parent of the releases' folders;
    absolute, or relative to the root of the site. `absent` names files that a manifest names and its release lacks.

    Raises:
        SiteError: names every variant that is not what it claims to be.
    """
    listed = {file.sha256: file for file in chain.from_iterable(plain.files.values())}
    found: dict[str, VariantFile] = {}
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
                file = _file_of(name.plain, entry, manifest, folder, made_of)
                first = found.setdefault(entry.filename, VariantFile(file=file, variant=variant))
                if first.file.sha256 != entry.sha256:
                    wrong = [*wrong, "another release has it with other bytes"]
            faults += [f"{manifest.tag}/{entry.filename}: {fault}" for fault in wrong]
    if faults:
        raise SiteError(
            "variants-contradict", "\n".join(faults), hint="publish the variant wheels again in another store"
        )
    files = sorted(found.values(), key=lambda each: (each.file.project, each.file.name.version, each.file.filename))
    return tuple(chain.from_iterable(_agreeing(wheels, warn) for _, wheels in groupby(files, key=_project_and_version)))


def _project_and_version(wheel: VariantFile) -> tuple[ProjectName, Version]:
    return wheel.file.project, wheel.file.name.version


def _agreeing(wheels: Iterable[VariantFile], warn: Callable[[str], None]) -> Sequence[VariantFile]:
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
    own = Variant.of_code(label.cuda, evidence.sass, evidence.ptx)
    variant = NULL_VARIANT if name.label == NULL_VARIANT.label else own
    if variant is None or variant.label != name.label:
        raise UnreadableError("variant-label-differs", "its label is not that of the GPU code in it")
    return variant


def _file_of(name: WheelName, entry: ListedWheel, manifest: ListedRelease, folder: str, plain: IndexFile) -> IndexFile:
    return IndexFile(
        name=name,
        filename=entry.filename,
        folder=folder,
        sha256=entry.sha256,
        size=entry.size,
        requires_python=entry.requires_python,
        requires_dist=entry.requires_dist,
        metadata_sha256=entry.metadata_sha256,
        uploaded_at=manifest.published_at,
        release=manifest.tag,
        yanked=plain.yanked,
    )


def pages_of_variants(files: Sequence[VariantFile], plain: Site) -> Iterator[Page]:
    """Render the trees of variant wheels, and the list of variants of every version; nothing if there are none."""
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
    site = Site(trees=tuple(_tree(path, trees[path]) for path in sorted(trees)), statuses=plain.statuses)
    yield from tree_pages(site, versions, site_templates())


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
        metadata_sha256=None,
        uploaded_at=max(each.file.uploaded_at for each in wheels if each.file.uploaded_at),
    )


def _paths_of(file: IndexFile, torches: Iterable[TorchVersion]) -> tuple[str, ...]:
    """Return the trees of a version: that of its torch, or those in its range and the one for any torch."""
    if isinstance(file.name.built_for.torch, TorchVersion):
        return (f"torch{file.name.built_for.torch}/{VARIANTS}",)
    return (VARIANTS, *(f"torch{torch}/{VARIANTS}" for torch in sorted(torches) if file.serves(torch)))


def _tree(path: str, versions: Mapping[ProjectName, Sequence[VersionFiles]]) -> Tree:
    return Tree(path=path, versions={project: tuple(listed) for project, listed in sorted(versions.items())})
