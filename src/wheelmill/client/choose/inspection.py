"""Choosing again when a look into the chosen wheels shows that they do not fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from wheelmill.client.choose.inside import Inside, keep_inside, mismatches_inside, recall_inside
from wheelmill.client.choose.look import look_into
from wheelmill.client.records import Candidate, Mismatch, Resolution
from wheelmill.client.sources.page_cache import PageCache
from wheelmill.names import ProjectName

_ROUNDS: Final = 10
"""So many wheels of a project are looked into at most."""

Looks = Mapping[ProjectName, Inside | str]
"""What each chosen wheel shows, or why it could not be looked into."""


@dataclass(frozen=True, kw_only=True)
class Inspection:
    """A choice, and what was seen on the way to it."""

    resolution: Resolution
    """The choices, with what their wheels require."""
    seen: Mapping[str, Inside | str]
    """What each wheel that was looked into shows, by its URL, or why it could not be looked into."""
    refused: Mapping[str, Sequence[Mismatch]]
    """What speaks against those that were left out, by their URLs."""


def inspect(choose_without: Callable[[frozenset[str]], Resolution], cache: PageCache, *, offline: bool) -> Inspection:
    """Look into the wheels that are chosen, and choose without those that do not fit after all.

    Args:
        choose_without: chooses again, without the wheels at these URLs.
        cache: the cache of what wheels were seen to hold.
        offline: whether to use only what the cache has.

    Returns:
        The last choice; its warnings say what was left out, and why.
    """
    seen: dict[str, Inside | str] = {}
    refused: dict[str, Sequence[Mismatch]] = {}
    warnings: list[str] = []
    for _ in range(_ROUNDS):
        resolution = choose_without(frozenset(refused))
        looks = _looks(resolution, cache, offline=offline)
        seen |= {resolution.choices[name].candidate.url: look for name, look in looks.items()}
        against = list(_mismatches(resolution, looks))
        if not against:
            break
        for candidate, reasons in against:
            refused[candidate.url] = reasons
            warnings.append(f"left out {candidate.filename}: {'; '.join(reason.reason for reason in reasons)}")
    else:
        resolution, looks = choose_without(frozenset(refused)), {}
    return Inspection(resolution=_add_notes(resolution, looks, warnings), seen=seen, refused=refused)


def _looks(resolution: Resolution, cache: PageCache, *, offline: bool) -> Looks:
    found: dict[ProjectName, Inside | str] = {}
    unknown = []
    for name, choice in resolution.choices.items():
        if known := recall_inside(choice.candidate, cache):
            found[name] = known
        elif offline:
            found[name] = "was not looked into: --offline was given"
        else:
            unknown.append(choice)
    if unknown:
        from wheelmill.web.client import PARALLEL, Web  # noqa: PLC0415 - not for what the cache has
        from wheelmill.web.side_by_side import begin  # noqa: PLC0415 - the same

        with Web() as web:
            looks = begin(lambda choice: look_into(choice.candidate, web), unknown, threads=PARALLEL)
            for choice, future in zip(unknown, looks, strict=True):
                found[choice.project] = look = future.result()
                if not isinstance(look, str):
                    keep_inside(look, choice.candidate, cache)
    return found


def _mismatches(resolution: Resolution, looks: Looks) -> Iterator[tuple[Candidate, Sequence[Mismatch]]]:
    """The wheels that do not fit, with every reason."""
    for name, look in looks.items():
        candidate = resolution.choices[name].candidate
        against = () if isinstance(look, str) else tuple(mismatches_inside(look, candidate, resolution.environment))
        if against:
            yield candidate, against


def _add_notes(resolution: Resolution, looks: Looks, warnings: Sequence[str]) -> Resolution:
    choices = dict(resolution.choices)
    for name, look in looks.items():
        choice = choices[name]
        if isinstance(look, str):
            choices[name] = replace(choice, notes=(*choice.notes, look))
            continue
        unread = () if look.code_read else ("its compiled code was not read",)
        choices[name] = replace(choice, requires_dist=look.requires_dist, notes=(*choice.notes, *unread))
    return replace(resolution, choices=choices, warnings=tuple(warnings))
