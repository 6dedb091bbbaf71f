"""Manifest of a release: written at publication, and not trusted when it is read."""
