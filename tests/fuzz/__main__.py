"""``python -m tests.fuzz [--seconds S] [--first ROUND] [FORMAT...]`` prints how each reader takes damaged inputs."""

import argparse

from tests.fuzz.harness import FORMATS, fuzz

parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
parser.add_argument("formats", nargs="*", metavar="FORMAT", help=f"of {', '.join(FORMATS)}; all, if none is named")
parser.add_argument("--seconds", type=float, default=60, help="for each format (default: %(default)s)")
parser.add_argument("--first", type=int, default=0, help="number of the first round of 100 inputs (default: 0)")
options = parser.parse_args()

print("| format | inputs | refused | seconds | slowest input, s | peak, MB |")
print("|---|---|---|---|---|---|")
for name in options.formats or FORMATS:
    found = fuzz(name, seconds=options.seconds, first=options.first)[name]
    print(
        f"| {name} | {found.inputs:,} | {found.refused:,} | {found.seconds} | {found.slowest} | {found.peak} |",
        flush=True,
    )
