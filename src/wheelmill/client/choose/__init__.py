"""The fitting wheel, and the reasons against the others."""
