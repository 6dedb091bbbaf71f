"""The GitHub server and the clock of the tests beside these."""

from tests.unit.release.github.conftest import clock, github

__all__ = ["clock", "github"]
