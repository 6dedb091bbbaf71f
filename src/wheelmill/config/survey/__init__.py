"""Facts about how a source is built, read without running it."""
