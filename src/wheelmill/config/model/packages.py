"""``packages.yml``: all packages, and what no entry can know by itself."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Final

from wheelmill.config.fields import ConfigFile, KeyPath, Name
from wheelmill.config.model.compatibility import Compatibility
from wheelmill.config.model.package import PackageEntry, has_torch
from wheelmill.config.model.package_parts import Defaults, GitSource, Part, faults_of_aliases
from wheelmill.names import TorchVersion
from wheelmill.wheel.metadata import reservation

_NO_AXIS: Final = "a package with torch_abi has no torch here: torch_abi says which ones it is for"

_NO_TORCH: Final = "holds nothing: extra_deps has no torch, so the package is built without it"

_NAME_UNSAID: Final = (
    "is required of a git source, whose name may be another's: what the package index has under it, 'same', 'other' or "
    "'absent'"
)


@dataclass(frozen=True, kw_only=True)
class Packages(ConfigFile):
    """``packages.yml``."""

    packages: Mapping[Name, PackageEntry]
    defaults: Defaults = field(default_factory=Defaults)

    def window_of(self, entry: PackageEntry) -> Part:
        """What a package is built for unless somebody asks for more."""
        defaults = self.defaults
        has_axis = has_torch(entry.extra_deps) and entry.torch_abi is None
        return Part(
            python=defaults.python if entry.python is None else None,
            cuda=defaults.cuda if entry.cuda is None else None,
            torch=defaults.torch if entry.torch is None and has_axis else None,
            platform=defaults.platforms if entry.platforms is None else None,
        )

    def contradictions(self) -> Iterator[tuple[KeyPath, str]]:
        """Packages with reserved names, and required packages that are missing or require each other."""
        for name, entry in self.packages.items():
            if reason := reservation(name):
                yield ("packages", name), reason
            if entry.versions is None and not isinstance(entry.source, Path):
                yield ("packages", name, "versions"), "is required"
            if entry.pypi is None and isinstance(entry.source, GitSource):
                yield ("packages", name, "pypi"), _NAME_UNSAID
            for place, required in enumerate(entry.requires):
                if required not in self.packages:
                    yield ("packages", name, "requires", place), f"there is no package {required} in this file"
            if entry.torch_abi:
                yield from ((("packages", name, *key), _NO_AXIS) for key in _torch_keys(entry))
        try:
            TopologicalSorter({name: entry.requires for name, entry in self.packages.items()}).prepare()
        except CycleError as error:
            circle = list(reversed(error.args[1]))
            yield ("packages", circle[0], "requires"), f"these require each other: {' -> '.join(circle)}"
        aliased = {name: entry.aliases for name, entry in self.packages.items() if entry.aliases}
        yield from faults_of_aliases(aliased, self.packages)

    def undated_rules(self, newest: TorchVersion) -> Iterator[tuple[KeyPath, str]]:
        """Rules that exclude the newest torch without saying since when."""
        for name, entry in self.packages.items():
            for place, rule in enumerate(entry.exclude):
                if rule.since is None and rule.torch and rule.torch.contains(str(newest), prereleases=True):
                    message = f"is required where torch {newest} is left out, the newest: a date such as 2026-11-21"
                    yield ("packages", name, "exclude", place, "since"), message

    def empty_ranges(self, facts: Compatibility) -> Iterator[tuple[KeyPath, str]]:
        """Ranges that hold nothing which there are facts about, so that nothing would be built."""
        without_torch = {"python": facts.pythons, "cuda": sorted(facts.cuda)}
        torches = sorted({*facts.torch, *facts.torch.candidates})
        with_torch = without_torch | {"python": facts.torch_pythons, "torch": torches}
        every_python = sorted({*facts.pythons, *facts.torch_pythons})
        yield from _empty_in(("defaults",), self.defaults, with_torch | {"python": every_python})
        for name, entry in self.packages.items():
            if "torch" in entry.needs or has_torch(entry.extra_deps):
                yield from _empty_in(("packages", name), entry, with_torch)
                continue
            yield from _empty_in(("packages", name), entry, without_torch)
            if entry.torch is not None:
                yield ("packages", name, "torch"), _NO_TORCH


def _empty_in(
    place: KeyPath, ranges: Defaults | PackageEntry, known: Mapping[str, Collection[object]]
) -> Iterator[tuple[KeyPath, str]]:
    """The ranges at one place that hold nothing which is known; where nothing is, there is nothing to hold."""
    for bound in Part(python=ranges.python, cuda=ranges.cuda, torch=ranges.torch).bounds:
        values = known.get(bound.axis)
        if values and not any(map(bound.admits, values)):
            there = ", ".join(map(str, values))
            yield (*place, bound.axis), f"holds nothing of what compatibility.yml has: {there}"


def _torch_keys(entry: PackageEntry) -> Iterator[KeyPath]:
    """The keys of an entry that treat torch as an axis."""
    if entry.torch is not None:
        yield ("torch",)
    if entry.include:
        yield ("include",)
    rules = (("exclude", entry.exclude), ("architectures", entry.architectures))
    for key, listed in rules:
        places = (place for place, rule in enumerate(listed) if isinstance(rule, Part) and rule.torch is not None)
        yield from ((key, place, "torch") for place in places)
