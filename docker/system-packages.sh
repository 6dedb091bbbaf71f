#!/usr/bin/env bash
# system-packages.sh DNF APT: installs development packages, by the names that they have for the image's package manager.
# Each argument holds names, separated by spaces.
set -euo pipefail

if command -v dnf >/dev/null; then
    manager=dnf
    read -ra names <<< "$1"
else
    manager=apt
    read -ra names <<< "$2"
fi
[ "${#names[@]}" -gt 0 ] || { echo "this image is for $manager, which no packages are named for" >&2 && exit 1; }

if [ "$manager" = dnf ]; then
    dnf install --assumeyes --setopt=install_weak_deps=False epel-release # where AlmaLinux has most of what it lacks
    dnf install --assumeyes --setopt=install_weak_deps=False "${names[@]}"
    dnf clean all
else
    apt-get update
    apt-get install --yes --no-install-recommends "${names[@]}"
    rm -rf /var/lib/apt/lists/*
fi
