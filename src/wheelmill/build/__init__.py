"""build: a wheel from source, finished so that it can be published."""
