"""Wheels: their names, archives, metadata and machine code."""
