"""Commands that make wheels and publish them."""
