"""Where ``compatibility.yml`` and the package index differ about torch, and bringing the file up to date."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from wheelmill.config.annotations import KeyPath
from wheelmill.config.document import read_document
from wheelmill.config.model import Compatibility, TorchRelease
from wheelmill.config.upkeep.amend import amend
from wheelmill.config.upkeep.published import LINUX_X86_64, PublishedTorch
from wheelmill.names import Platform, PythonVersion, TorchVersion

Difference = TypeVar("Difference")


@dataclass(frozen=True, kw_only=True)
class TorchDifference:
    """One fact about a torch minor release. Both values are as ``compatibility.yml`` writes them."""

    torch: TorchVersion
    fact: Literal["missing", "release", "python", "default_cuda"]
    file: Any
    """None for a release that is missing."""
    index: Any
    """For a release that is missing all its facts, None for one that the index does not tell."""

    @property
    def writable(self) -> bool:
        """Whether the index tells all that the file must say."""
        return self.fact != "missing" or None not in self.index.values()

    def __str__(self) -> str:
        """``torch 2.11: release 2.11.0, the index has 2.11.1``."""
        if self.fact == "missing":
            pythons, cuda = _in_words(self.index["python"]), self.index["default_cuda"] or "unknown"
            return f"torch {self.torch}: missing (release {self.index['release']}, Python {pythons}, CUDA {cuda})"
        return f"torch {self.torch}: {self.fact} {_in_words(self.file)}, the index has {_in_words(self.index)}"


@dataclass(frozen=True, kw_only=True)
class Drift(Generic[Difference]):
    """What a comparison found."""

    differences: tuple[Difference, ...]
    unknown: tuple[str, ...]
    """What could not be compared, and why."""


def find_drift(
    compatibility: Compatibility, published: Mapping[TorchVersion, PublishedTorch]
) -> Drift[TorchDifference]:
    """Compare the facts about torch with what the index says."""
    differences: list[TorchDifference] = []
    unknown: list[str] = []
    for torch in sorted(compatibility.torch.keys() | published.keys()):
        known, newest = compatibility.torch.get(torch), published.get(torch)
        if newest is None:
            unknown.append(f"torch {torch}: the index has no wheels of it for linux x86_64")
            continue
        if newest.default_cuda is None:
            unknown.append(f"torch {torch}: the index does not tell the CUDA of {newest.release}")
        unknown.extend(
            f"torch {torch}: the index has no wheels of {newest.release} for {platform}"
            for platform in (known.python if known else ())
            if platform not in newest.python
        )
        if known is None:
            differences.append(TorchDifference(torch=torch, fact="missing", file=None, index=_block(newest)))
        else:
            differences.extend(_changes(torch, known, newest))
    return Drift(differences=tuple(differences), unknown=tuple(unknown))


def write_differences(path: Path, differences: Collection[TorchDifference], *, checked: dt.date) -> None:
    """Bring ``compatibility.yml`` up to date with writable differences, and date its facts about torch.

    Raises:
        ConfigurationError: the file cannot be changed in place; then it stays as it was.
    """
    keys = {TorchVersion.parse(key): key for key in read_document(path).content["torch"]["releases"]}
    values: dict[KeyPath, Any] = {("torch", "checked"): checked.isoformat()}
    for difference in differences:
        release = ("torch", "releases", keys.get(difference.torch, str(difference.torch)))
        values[release if difference.fact == "missing" else (*release, difference.fact)] = difference.index
    amend(path, values)


def _changes(torch: TorchVersion, known: TorchRelease, newest: PublishedTorch) -> Iterable[TorchDifference]:
    if known.release != newest.release:
        yield TorchDifference(torch=torch, fact="release", file=known.release, index=newest.release)
    pythons = {platform: newest.python.get(platform, own) for platform, own in known.python.items()}
    if known.python != pythons:
        yield TorchDifference(torch=torch, fact="python", file=_as_written(known.python), index=_as_written(pythons))
    if newest.default_cuda and known.default_cuda != newest.default_cuda:
        file, index = str(known.default_cuda), str(newest.default_cuda)
        yield TorchDifference(torch=torch, fact="default_cuda", file=file, index=index)


def _block(new: PublishedTorch) -> dict[str, object]:
    """A release as ``compatibility.yml`` has it; of its CUDA releases the index knows that of its own wheels."""
    cuda = str(new.default_cuda) if new.default_cuda else None
    return {
        "release": new.release,
        "cuda": {str(LINUX_X86_64): [cuda]} if cuda else None,
        "python": _listed(new.python[LINUX_X86_64]),
        "default_cuda": cuda,
        "glibc": str(new.glibc) if new.glibc else None,
    }


def _as_written(pythons: Mapping[Platform, frozenset[PythonVersion]]) -> list[str] | dict[str, list[str]]:
    """One list where the platforms agree, else a list for each."""
    lists = {str(platform): _listed(own) for platform, own in pythons.items()}
    first = next(iter(lists.values()), [])
    return first if all(each == first for each in lists.values()) else lists


def _listed(pythons: Iterable[PythonVersion]) -> list[str]:
    """In the order of the file: free-threaded ones last."""
    return [str(python) for python in sorted(pythons, key=lambda python: (python.free_threaded, python))]


def _in_words(value: str | list[str] | dict[str, list[str]]) -> str:
    """A value as it is; a list of Pythons as ``3.10-3.14, 3.13t-3.14t``, with platforms where they differ."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return " and ".join(f"{_in_words(pythons)} on {platform}" for platform, pythons in value.items())
    runs: list[list[PythonVersion]] = []
    for python in map(PythonVersion.parse, value):
        if runs and replace(python, minor=python.minor - 1) == runs[-1][-1]:
            runs[-1].append(python)
        else:
            runs.append([python])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
