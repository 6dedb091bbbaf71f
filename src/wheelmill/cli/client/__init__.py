"""Commands that choose wheels and install them."""
