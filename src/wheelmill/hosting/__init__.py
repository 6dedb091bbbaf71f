"""Places of others: how a repository on GitHub must be set for a factory, and how the Hub's kernels are laid out."""
