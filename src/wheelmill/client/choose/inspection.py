"""Choosing again when inspecting the chosen wheels shows that they do not fit."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from wheelmill.client.choose.choice import Candidates
from wheelmill.client.choose.fit import is_for_other_torch, mismatches_inside
from wheelmill.client.records import Candidate, Choice, Inside, Resolution, TargetEnvironment
from wheelmill.client.sources.page_cache import PageCache
from wheelmill.system.plain_records import plain_of, record_of
from wheelmill.system.progress import QUIET, Progress

_ROUNDS: Final = 10
"""The most wheels of a project that are inspected."""

_UNREAD: Final = Inside(requires_dist=())
"""What is known of a wheel that could not be inspected."""

Looks = Mapping[str, Inside | str]
"""What each inspected wheel showed, by its URL, or why it could not be inspected."""


@dataclass(frozen=True, kw_only=True)
class Inspection:
    """A choice, and what was seen in wheels on the way to it."""

    resolution: Resolution
    """The choices, with what their wheels require."""
    seen: Looks


def with_looks(candidates: Candidates, seen: Looks) -> Candidates:
    """Candidates with what was seen in them."""
    return {
        name: [
            replace(candidate, inside=look) if isinstance(look := seen.get(candidate.url), Inside) else candidate
            for candidate in each
        ]
        for name, each in candidates.items()
    }


def inspect(
    choose_with: Callable[[Looks], Resolution],
    cache: PageCache,
    *,
    offline: bool,
    confirm: bool = False,
    progress: Progress = QUIET,
) -> Inspection:
    """Inspect the chosen wheels, and choose again if one of them turns out not to fit.

    Args:
        choose_with: chooses with what was seen in wheels so far.
        cache: the cache of what wheels were seen to hold.
        offline: whether to use only what the cache has.
        confirm: whether servers are asked for the files of wheels of which the cache or a manifest says enough.
        progress: is told what is looked into.

    Returns:
        The last choice; its warnings say what was left out, and why.
    """
    seen: dict[str, Inside | str] = {}
    left_out: dict[str, str] = {}
    for _ in range(_ROUNDS):
        resolution = choose_with(seen)
        unseen = [choice.candidate for choice in resolution.choices.values() if choice.candidate.url not in seen]
        seen |= look_into_all(unseen, cache, offline=offline, confirm=confirm, progress=progress)
        reasons = dict(_reasons_against(resolution, seen))
        seen |= {url: _UNREAD for url in reasons if isinstance(seen[url], str)}
        left_out |= reasons
        if not reasons:
            break
    else:
        resolution = choose_with(seen)
    chosen = {choice.candidate.url for choice in resolution.choices.values()}
    warnings = tuple(said for url, said in left_out.items() if url not in chosen)
    choices = {name: _with_notes(choice, seen, resolution.environment) for name, choice in resolution.choices.items()}
    return Inspection(resolution=replace(resolution, choices=choices, warnings=warnings), seen=seen)


def look_into_all(
    candidates: Sequence[Candidate],
    cache: PageCache,
    *,
    offline: bool,
    confirm: bool = False,
    progress: Progress = QUIET,
) -> Looks:
    """Inspect wheels in parallel, or take what the cache has of them.

    Args:
        candidates: the wheels to look into.
        cache: the cache of what wheels were seen to hold.
        offline: whether to use only what the cache has.
        confirm: whether servers are asked if they still have each file, also where the cache knows what it holds.
        progress: shows which wheels are looked into.
    """
    known = {candidate.url: inside for candidate in candidates if (inside := _recall(candidate, cache))}
    unasked = "was not looked into: --offline was given"
    found: dict[str, Inside | str] = {each.url: known.get(each.url, unasked) for each in candidates}
    asked = [] if offline else [each for each in candidates if confirm or each.url not in known]
    if asked:
        from wheelmill.client.choose.look import find_gone, look_into  # noqa: PLC0415 - not for what the cache has
        from wheelmill.web.client import ATTENDED, PARALLEL, Web, begin  # noqa: PLC0415 - the same

        with Web(retries=ATTENDED) as web:

            def look_at(candidate: Candidate) -> Inside | str:
                gone = find_gone(candidate, web) if confirm else None
                return gone or known.get(candidate.url) or look_into(candidate, web)

            progress.line(f"looking into {', '.join(each.filename for each in asked)}")
            for candidate, future in zip(asked, begin(look_at, asked, threads=PARALLEL), strict=True):
                found[candidate.url] = look = future.result()
                if not isinstance(look, str) and not look.gone:
                    _keep(look, candidate, cache)
        progress.line("")
    return found


def _keep(inside: Inside, candidate: Candidate, cache: PageCache) -> None:
    """Keep what a wheel shows, under its hash; without one there is no telling whether it is still the same."""
    if candidate.sha256:
        cache.keep_fact(f"inside/3:{candidate.sha256}", json.dumps(plain_of(inside)))


def _recall(candidate: Candidate, cache: PageCache) -> Inside | None:
    """What the cache keeps of a wheel; None when it was never looked into."""
    kept = cache.fact(f"inside/3:{candidate.sha256}") if candidate.sha256 else None
    if kept is None:
        return None
    inside: Inside = record_of(Inside, json.loads(kept))
    return inside


def _reasons_against(resolution: Resolution, seen: Looks) -> Iterator[tuple[str, str]]:
    """The chosen wheels that do not fit, by their URLs, with every reason."""
    for choice in resolution.choices.values():
        candidate = choice.candidate
        look = seen[candidate.url]
        inside = _UNREAD if isinstance(look, str) else look
        against = mismatches_inside(inside, candidate.label, resolution.environment)
        if reasons := "; ".join(mismatch.reason for mismatch in against):
            yield candidate.url, f"left out {candidate.filename}: {reasons}"


def _with_notes(choice: Choice, seen: Looks, target: TargetEnvironment) -> Choice:
    """A choice, with the requirements of its wheel and a warning about what could not be seen in it."""
    look = seen.get(choice.candidate.url)
    if look is None:
        return replace(choice, notes=(*choice.notes, f"was not looked into: {_ROUNDS} better ones did not fit"))
    if isinstance(look, str):
        return replace(choice, notes=(*choice.notes, look))
    notes = list(choice.notes)
    label = choice.candidate.label
    if is_for_other_torch(label, target):
        notes.append(f"is built for torch {label.torch}: torch {target.torch} has its symbols, which is no proof")
    if not look.code_read:
        notes.append("its compiled code was not read")
    candidate = replace(choice.candidate, inside=look)
    return replace(choice, candidate=candidate, requires_dist=look.requires_dist, notes=tuple(notes))
