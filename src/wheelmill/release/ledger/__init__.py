"""The ledger of a factory: what is published, what failed and what is in progress, all read at once."""
