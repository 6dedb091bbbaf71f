"""Locks: everything that environments get, with hashes."""
