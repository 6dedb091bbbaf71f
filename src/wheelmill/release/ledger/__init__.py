"""Ledger of a factory: published wheels, failed builds and work in progress, all read at once."""
