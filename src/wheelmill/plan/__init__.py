"""plan: which wheels are wanted, and why the others are not."""
