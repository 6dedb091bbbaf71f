"""Start of the program, also as ``python -m wheelmill``: its version is shown before anything else is imported."""

import os
import sys
from contextlib import suppress


def main() -> None:
    """Print the version, or run the command."""
    if sys.argv[1:] in (["--version"], ["-V"]) and sys.stdout:
        from importlib.metadata import version

        with suppress(OSError):  # which the command line meets again, and reports: nothing is left in a buffer
            os.write(sys.stdout.fileno(), f"{version('wheelmill')}{os.linesep}".encode())
            return
    from wheelmill.cli import main as run

    run()


if __name__ == "__main__":
    try:
        here = os.getcwd()  # noqa: PTH109 - pathlib itself would be taken from there
    except FileNotFoundError:  # it was removed
        here = ""
    if sys.path[0] in {"", here}:  # as pip does: a json.py in the user's folder is not ours to import
        del sys.path[0]
    main()
