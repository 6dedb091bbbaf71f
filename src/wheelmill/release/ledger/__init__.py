"""The ledger of a factory: what is published, what failed and what goes on, in one place that is read at once."""
