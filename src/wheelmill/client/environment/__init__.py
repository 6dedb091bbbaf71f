"""An environment that is there: changed, tried and examined."""
