"""release: tested wheels under a date tag, with one manifest that describes each of them."""
