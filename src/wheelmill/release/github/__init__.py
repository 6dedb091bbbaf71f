"""Releases on GitHub, or on a GitHub Enterprise Server."""
