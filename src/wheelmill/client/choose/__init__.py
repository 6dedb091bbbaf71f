"""Which wheel fits, and why the others do not."""
