"""Releases on GitHub, or on a GitHub Enterprise Server."""

from wheelmill.release.github.api import Repository
from wheelmill.release.github.download import JobArtifacts
from wheelmill.release.github.store import GitHubStore
