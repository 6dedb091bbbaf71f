"""All network access of wheelmill."""

import sys

# httpx also imports its own command line, with click and rich: two thirds of its import time. None marks the module
# as missing, which httpx allows for: https://docs.python.org/3/reference/import.html#the-module-cache
sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]
