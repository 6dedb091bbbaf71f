"""config: what to build, read from ``config/`` and checked whole before anything runs."""
