"""pipeline: the stages of a wheel in their order; every other package knows only its own stage."""
