"""Locks: the complete content of environments, with hashes."""
