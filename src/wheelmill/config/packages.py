"""The records that the entries of ``packages.yml`` become."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from packaging.specifiers import SpecifierSet

from wheelmill.config.model import ArchVariable, Expectations, GitSource, Lock, Need, Package, Part, Rule, has_torch
from wheelmill.config.packages_file import GitEntry, PackageEntry, RuleEntry
from wheelmill.names import ProjectName

Item = TypeVar("Item")


def package_of(name: ProjectName, entry: PackageEntry, directory: Path, lock: Lock) -> Package:
    """Make a record of an entry.

    Args:
        name: its key.
        entry: what stands there.
        directory: the configuration folder, which its paths start from.
        lock: has the versions of a range.
    """
    arch = entry.arch_variable
    version_range = entry.versions if isinstance(entry.versions, SpecifierSet) else None
    listed = entry.versions if isinstance(entry.versions, list) else ()
    return Package(
        name=name,
        versions=tuple(listed) if version_range is None else lock.versions_in(name, version_range),
        version_range=version_range,
        build_arguments=entry.build_args,
        extra_deps=tuple(entry.extra_deps),
        env=tuple(sorted(entry.env.items())),
        architectures=tuple(entry.architectures),
        expectations=_expectations(name, entry, directory),
        abi=entry.abi,
        description=entry.description,
        source=_source(entry, directory),
        licence=entry.licence,
        redistributable=entry.redistributable,
        patches=tuple(directory / path for path in entry.patches),
        arch_variable=ArchVariable(name=arch.name, dotted=arch.form == "dotted") if arch else None,
        scope=Part(python=entry.python, cuda=entry.cuda, torch=entry.torch, platforms=_tuple_or_none(entry.platforms)),
        exclude=tuple(map(_rule, entry.exclude)),
        include=tuple(map(_rule, entry.include)),
        runner=entry.runner,
        memory_per_job=entry.memory_per_job << 30 if entry.memory_per_job else None,
        timeout=entry.timeout * 60 if entry.timeout else None,
    )


def _expectations(name: ProjectName, entry: PackageEntry, directory: Path) -> Expectations:
    needs: set[Need] = {*entry.needs}
    if has_torch(entry.extra_deps):
        needs.add("torch")
    return Expectations(
        imports=tuple(entry.test_import or [name.replace("-", "_")]),
        script=(directory / entry.smoke_script).read_text(encoding="utf-8") if entry.smoke_script else None,
        requires=tuple(entry.requires),
        needs=tuple(sorted(needs)),
        cudart=entry.cudart,
    )


def _source(entry: PackageEntry, directory: Path) -> Path | GitSource | None:
    if isinstance(entry.source, GitEntry):
        return entry.source.record
    return directory / entry.source if entry.source else None


def _rule(entry: RuleEntry) -> Rule:
    part = Part(
        version=entry.version,
        python=entry.python,
        cuda=entry.cuda,
        torch=entry.torch,
        platforms=_tuple_or_none(entry.platform),
    )
    return Rule(part=part, reason=entry.reason)


def _tuple_or_none(items: list[Item] | None) -> tuple[Item, ...] | None:
    return None if items is None else tuple(items)
