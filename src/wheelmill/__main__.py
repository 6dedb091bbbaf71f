"""``python -m wheelmill``."""

import sys
from pathlib import Path

if sys.path[0] in {"", str(Path.cwd())}:  # as pip does: a json.py in the user's folder is not ours to import
    del sys.path[0]

from wheelmill.cli import main

main()
