"""The one door to the network."""

import sys

# httpx also loads its own command line, with click and rich: two thirds of the time of its import. None says that
# there is no such module, which httpx allows for: https://docs.python.org/3/reference/import.html#the-module-cache
sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]
