"""index: a static package index over release files, a pure function of the releases' manifests."""
