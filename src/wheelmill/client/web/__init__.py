"""Requests to servers that nobody vouches for."""
