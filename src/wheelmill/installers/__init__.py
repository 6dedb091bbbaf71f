"""uv and pip: their configuration, environments, package folders and caches."""
