#!/usr/bin/env bash
# link-toolkit.sh TOOLKIT HOME: makes a CUDA home of links to a toolkit, whose nvcc goes through the compiler cache.
# Builds that take nvcc from CUDA_HOME by its full path find that one; nothing else differs. The toolkit's own nvcc takes
# the folder above its own for the toolkit and says so to CMake (FindCUDA), so its folder must be in this home, too.
set -euo pipefail

toolkit=$1
home=$2

mkdir -p "$home/bin" "$home/toolkit"
for path in "$toolkit"/*; do
    [ "${path##*/}" = bin ] || ln -s "$path" "$home/"
done
for path in "$toolkit"/bin/*; do
    ln -s "$path" "$home/toolkit/"
    [ "${path##*/}" = nvcc ] || ln -s "$path" "$home/bin/"
done
cp "$(dirname "$0")/through-ccache.sh" "$home/bin/nvcc"
chmod +x "$home/bin/nvcc"
