"""Maintenance of the files under ``config/``: their drift from upstream, and edits in place."""
