"""Choosing again when a look into the chosen wheels shows that they do not fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from wheelmill.client.look import Inside, LookError, keep_inside, known_inside, look_into, refusals_inside
from wheelmill.client.page_cache import PageCache
from wheelmill.client.records import Choice, Resolution
from wheelmill.names import ProjectName

if TYPE_CHECKING:
    from wheelmill.client.web import Web

_ROUNDS: Final = 10
"""So many wheels of a project are looked into at most."""

Looks = Mapping[ProjectName, Inside | str]
"""What each chosen wheel shows, or why it could not be looked into."""


def looked_into(
    chosen_without: Callable[[frozenset[str]], Resolution], cache: PageCache, *, offline: bool
) -> Resolution:
    """Look into the wheels that are chosen, and choose without those that do not fit after all.

    Args:
        chosen_without: chooses, leaving out wheels with these URLs.
        cache: keeps what was seen.
        offline: whether to do with what it has.

    Returns:
        The last choice, with what its wheels require; its warnings say what was left out, and why.
    """
    refused: dict[str, str] = {}
    resolution = chosen_without(frozenset())
    for _ in range(_ROUNDS):
        looks = _looks(resolution, cache, offline=offline)
        found = dict(_refusals(resolution, looks))
        if not found:
            return _noted(resolution, looks, refused)
        refused |= found
        resolution = chosen_without(frozenset(refused))
    return _noted(resolution, {}, refused)


def _looks(resolution: Resolution, cache: PageCache, *, offline: bool) -> Looks:
    found: dict[ProjectName, Inside | str] = {}
    unknown = []
    for name, choice in resolution.choices.items():
        if known := known_inside(choice.candidate, cache):
            found[name] = known
        elif offline:
            found[name] = "was not looked into: this is offline"
        else:
            unknown.append(choice)
    if unknown:
        from wheelmill.client.web import Web  # noqa: PLC0415 - not for what the cache has

        with Web() as web, ThreadPoolExecutor(len(unknown)) as pool:
            looks = pool.map(lambda choice: _look(choice, web), unknown)
            for choice, look in zip(unknown, looks, strict=True):
                found[choice.project] = look
                if not isinstance(look, str):
                    keep_inside(look, choice.candidate, cache)
    return found


def _look(choice: Choice, web: Web) -> Inside | str:
    try:
        return look_into(choice.candidate, web)
    except LookError as error:
        return str(error)


def _refusals(resolution: Resolution, looks: Looks) -> list[tuple[str, str]]:
    """The URLs of wheels that do not fit, with a sentence each."""
    found = []
    for name, look in looks.items():
        candidate = resolution.choices[name].candidate
        against = [] if isinstance(look, str) else list(refusals_inside(look, candidate, resolution.environment))
        if against:
            reasons = "; ".join(refusal.reason for refusal in against)
            found.append((candidate.url, f"left out {candidate.filename}: {reasons}"))
    return found


def _noted(resolution: Resolution, looks: Looks, refused: Mapping[str, str]) -> Resolution:
    choices = dict(resolution.choices)
    for name, look in looks.items():
        choice = choices[name]
        if isinstance(look, str):
            choices[name] = replace(choice, notes=(*choice.notes, look))
            continue
        unread = () if look.code_read else ("its compiled code was not looked into",)
        choices[name] = replace(choice, requires_dist=look.requires_dist, notes=(*choice.notes, *unread))
    return replace(resolution, choices=choices, warnings=tuple(refused.values()))
