"""config: the packages to build, read from ``config/`` and checked whole before any build."""
