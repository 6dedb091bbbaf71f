"""Variant wheels (PEP 825, a draft): the one for this machine, and the reasons against the others."""
