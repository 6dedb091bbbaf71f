#!/usr/bin/env bash
# python.sh: makes a stand-in for python:3.11-slim of Debian bookworm and its own Python, unless there is such an image.
set -euo pipefail
cd "$(dirname "$0")"

name=python:3.11-slim
! docker image inspect "$name" >/dev/null 2>&1 || exit 0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
./debian.sh "$work/tree" python3-venv,python-is-python3,ca-certificates
tar -C "$work/tree" -c . | docker import --change 'CMD ["python3"]' --change 'LABEL wheelmill.stand-in=true' - "$name" >/dev/null
