"""A project's files, changed as a whole or not at all."""
