"""Conformance suite for any simple index, by the rules of the PEPs that define one."""
