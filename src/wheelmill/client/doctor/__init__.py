"""Defects of an environment and its project, and their remedies."""
