#!/usr/bin/env bash
# debian.sh TREE [PACKAGE,PACKAGE...]: makes a small Debian bookworm under TREE. Where production has AlmaLinux 8 and
# Ubuntu, so the stand-ins prove nothing about an old glibc.
set -euo pipefail
# shellcheck source=/dev/null
source "$(dirname "$0")/common.sh"

tree=$1
mkdir -p "$CACHE/debian"
log=$tree.log
mirror=$(debian_mirror) # none on another system, where debootstrap knows its own
debootstrap --variant=minbase ${2:+--include="$2"} --cache-dir="$CACHE/debian" bookworm "$tree" ${mirror:+"$mirror"} >"$log" 2>&1 ||
    { tail -n 30 "$log" >&2 && exit 1; }
rm -rf "$tree"/var/lib/apt/lists/* "$tree"/var/cache/apt/archives/*.deb "$tree"/usr/share/{doc,man,locale}/* "$tree/etc/resolv.conf" "$log"
