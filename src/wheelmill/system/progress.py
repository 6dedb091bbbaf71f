"""What a person sees while something long runs. Silent here; the command line shows it."""

from __future__ import annotations

from typing import Final


class Progress:
    """Receives what happens and keeps quiet."""

    def step(self, text: str) -> None:
        """Something worth a line of its own began or ended."""

    def line(self, text: str) -> None:
        """A program that is running printed a line, or this is what is waited for; empty when that is over."""

    def show_download(self, filename: str, done: int, total: int | None) -> None:
        """So many bytes of a download have come, of so many if that is known; called from several threads."""


QUIET: Final = Progress()
"""For callers that have nobody to tell."""
