#!/bin/sh
# Builds one wheel of config/packages.yml on this machine, into wheels/.
set -eu

if [ $# -lt 4 ] || [ $# -gt 5 ]; then
    echo "usage: scripts/build_wheel.sh PACKAGE VERSION PYTHON CUDA [TORCH]" >&2
    echo "       scripts/build_wheel.sh torch-spline-conv 1.2.2 3.12 13.0 2.11" >&2
    exit 2
fi
cd "$(dirname "$0")/.."
scripts/setup
exec .venv/bin/wheelmill build "$1" --version "$2" --python "$3" --cuda "$4" ${5:+--torch "$5"} --output wheels
