"""Keeping the files under ``config/`` true: what differs from the world outside, and changing them in place."""
