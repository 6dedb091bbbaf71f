"""In which torches a wheel could load at all, by the symbols that it leaves open.

That they exist is necessary and not sufficient: the same name may stand for something else. So this never makes a wheel
fit; and of a torch that the table does not have, nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from wheelmill.names import TorchVersion


@dataclass(frozen=True, kw_only=True, slots=True)
class TorchFit:
    """What one torch has of the symbols that a wheel needs."""

    torch: TorchVersion
    lacks: tuple[str, ...] = ()
    """The first few that it does not define, mangled; none when it defines all."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TorchWindow:
    """In which torches a wheel could load."""

    symbols: int
    """How many of torch's it needs."""
    cuda: bool
    """Whether some of them are only in torches that are built with CUDA."""
    torches: tuple[TorchFit, ...]
    """Those that are known, ascending: of any other nothing can be said."""

    def lacking(self, torch: TorchVersion) -> tuple[str, ...] | None:
        """The first few symbols that a torch does not define, none when it defines all; None when it is not known."""
        return next((fit.lacks for fit in self.torches if fit.torch == torch), None)

    def __str__(self) -> str:
        """``its symbols exist in torch 2.10 and 2.11 only``."""
        runs = list(_runs(self.torches))
        known = f"{self.torches[0].torch} to {self.torches[-1].torch}" if self.torches else ""
        if not known:
            return "in which torches its symbols exist is not known"
        if not runs:
            return f"its symbols exist in no torch from {known}"
        if all(not fit.lacks for fit in self.torches):
            return f"its symbols exist in every torch from {known}"
        texts = [f"{run[0]} to {run[-1]}" if len(run) > 2 else " and ".join(map(str, run)) for run in runs]  # noqa: PLR2004
        return f"its symbols exist in torch {', '.join(texts)} only"


def _runs(torches: Sequence[TorchFit]) -> Iterator[list[TorchVersion]]:
    """Neighbours that define all."""
    run: list[TorchVersion] = []
    for fit in torches:
        if not fit.lacks:
            run.append(fit.torch)
        elif run:
            yield run
            run = []
    if run:
        yield run
