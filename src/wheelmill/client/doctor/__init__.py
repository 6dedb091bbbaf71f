"""Defects of an environment and of the project that it belongs to, and what mends them."""
