"""smoke: a wheel is refused for what its bytes show, or for what happens when it is installed."""
