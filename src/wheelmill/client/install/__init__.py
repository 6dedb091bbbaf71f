"""Bringing wheels into an environment: downloads, each under its hash, and the installer."""
