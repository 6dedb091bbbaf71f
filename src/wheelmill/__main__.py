"""``python -m wheelmill``."""

import os
import sys

try:
    here = os.getcwd()  # noqa: PTH109 - pathlib itself would be taken from there
except FileNotFoundError:  # it was removed
    here = ""
if sys.path[0] in {"", here}:  # as pip does: a json.py in the user's folder is not ours to import
    del sys.path[0]

from wheelmill.cli import main

main()
