"""Where GitHub Pages serves the site of a repository."""

from __future__ import annotations

from typing import Final

from wheelmill.hosting.answers import Answers
from wheelmill.hosting.settings import PagesSite
from wheelmill.release.github import Repository
from wheelmill.release.github.api import Calls, Pace
from wheelmill.system.progress import QUIET, Clock

_NO_SITE: Final = PagesSite(public=False)


def find_site(repository: Repository, clock: Clock) -> str | None:
    """Ask GitHub for the address of a repository's site; None where Pages is off.

    https://docs.github.com/en/rest/pages/pages#get-a-github-pages-site

    Raises:
        ReleaseError: the token may not see it: it needs "Pages: read".
        NetworkError: GitHub fails, or gives an answer that cannot be read.
    """
    with Calls(repository, Pace(clock), QUIET) as calls:
        return Answers(calls).one("/pages", PagesSite, absent=_NO_SITE).html_url
