"""What a person sees while something long runs. Silent here; the command line shows it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, TypeVar

Item = TypeVar("Item")
_SHOWN_EACH: Final = 25
"""To show every page of a site would take as long as to make it."""


class Progress:
    """Is told what happens, and shows nothing."""

    def step(self, text: str) -> None:
        """Something worth a line of its own began or ended."""

    def line(self, text: str) -> None:
        """The last line of a running program, or what the command waits for; empty when that is over."""

    def count(self, items: Iterable[Item], words: str) -> Iterator[Item]:
        """Pass items on, and show now and then how many there were."""
        for number, item in enumerate(items, start=1):
            if number % _SHOWN_EACH == 0:
                self.line(f"{number:,} {words}")
            yield item

    def show_download(self, filename: str, done: int, total: int | None) -> None:
        """So many bytes of a download have come, of so many if that is known; called from several threads."""


QUIET: Final = Progress()
"""For callers that have nobody to tell."""
