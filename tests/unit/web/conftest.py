"""Requests are made with a cache and a netrc of the test's own."""

from tests.unit.client.conftest import own_cache

__all__ = ["own_cache"]
