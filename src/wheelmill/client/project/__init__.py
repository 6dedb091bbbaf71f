"""Projects: atomic changes to their files."""
