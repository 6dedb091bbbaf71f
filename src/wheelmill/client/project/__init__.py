"""Projects: changing their files, completely or not at all."""
