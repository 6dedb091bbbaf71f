#!/usr/bin/env bash
# host-compiler.sh NEWEST: finds or installs a g++ whose major version is at most NEWEST, the last one that this nvcc
# takes, and leaves /opt/wheelmill/host-compiler/{gcc,g++} as links to it.
set -euo pipefail

newest=$1
links=/opt/wheelmill/host-compiler

# The image's own compiler is the first choice: manylinux has set it up for wheels.
if command -v g++ >/dev/null && [ "$(g++ -dumpversion | cut -d. -f1)" -le "$newest" ]; then
    gcc=$(command -v gcc) gxx=$(command -v g++)
elif command -v dnf >/dev/null; then # AlmaLinux 8; its toolsets link the newer parts of libstdc++ statically
    dnf install --assumeyes --setopt=install_weak_deps=False "gcc-toolset-$newest-gcc-c++"
    dnf clean all
    toolset=/opt/rh/gcc-toolset-$newest/root/usr/bin
    gcc=$toolset/gcc gxx=$toolset/g++
else
    apt-get update
    apt-get install --yes --no-install-recommends "g++-$newest"
    rm -rf /var/lib/apt/lists/*
    gcc=/usr/bin/gcc-$newest gxx=/usr/bin/g++-$newest
fi

mkdir -p "$links"
ln -s "$gcc" "$links/gcc"
ln -s "$gxx" "$links/g++"

version=$("$links/g++" -dumpversion | cut -d. -f1)
echo "host compiler of nvcc: $gxx, version $version"
[ "$version" -le "$newest" ]
