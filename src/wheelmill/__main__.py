"""``python -m wheelmill``."""

from wheelmill.cli import main

main()
