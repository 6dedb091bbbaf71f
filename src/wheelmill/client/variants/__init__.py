"""Variant wheels (PEP 825, a draft): which of them this machine gets, and why not the others."""
