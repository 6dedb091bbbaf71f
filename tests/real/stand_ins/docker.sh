#!/usr/bin/env bash
# Makes Docker answer on a Debian machine without systemd: installs docker.io and debootstrap where they are missing and
# starts dockerd. Does nothing where a daemon answers already, so it never touches a person's own Docker.
set -euo pipefail

log=/var/log/wheelmill-dockerd.log

answers() { docker version >/dev/null 2>&1; }

# Starts dockerd with one storage driver and waits until it answers; fails as soon as the process has ended.
start() {
    setsid dockerd --storage-driver="$1" >"$log" 2>&1 </dev/null &
    local daemon=$!
    for _ in $(seq 120); do
        answers && return
        kill -0 "$daemon" 2>/dev/null || return
        sleep 0.5
    done
    kill "$daemon"
    return 1
}

packages=()
command -v dockerd >/dev/null || answers || packages+=(docker.io)
command -v debootstrap >/dev/null || packages+=(debootstrap)
if [ ${#packages[@]} -gt 0 ]; then
    apt-get update --quiet >&2
    apt-get install --yes --quiet --no-install-recommends "${packages[@]}" >&2
fi

# overlay2 needs a file system that overlays can lie on; vfs copies every layer, but works anywhere.
answers || start overlay2 || start vfs || {
    tail -n 30 "$log" >&2
    echo "error: dockerd does not answer; its log is $log" >&2
    exit 1
}
docker version --format 'docker {{.Client.Version}}, daemon {{.Server.Version}}'
