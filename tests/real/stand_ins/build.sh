#!/usr/bin/env bash
# build.sh [--cuda 12.4|13.0 ...]: makes stand-ins for the public images that docker/*.Dockerfile start from, under the
# same names, where no image registry can be reached. Needs root, the Docker of docker.sh and the .venv of scripts/setup.
# An image that this recipe made before stays, and one that is no stand-in is never replaced.
set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source=/dev/null
source ./common.sh

releases=()
while [ $# -gt 0 ]; do
    case "$1 ${2:-}" in
    '--cuda 12.4' | '--cuda 13.0') releases+=("$2") && shift 2 ;;
    *) echo "usage: build.sh [--cuda 12.4|13.0 ...]" >&2 && exit 2 ;;
    esac
done
[ ${#releases[@]} -gt 0 ] || releases=(12.4 13.0)
declare -A toolkits=([12.4]=12.4.1 [13.0]=13.0.2) systems=([12.4]=ubuntu22.04 [13.0]=ubuntu24.04)

# In memory: dpkg waits for the disk after every package, 90 seconds in all instead of 30.
work=$(mktemp -d -p /dev/shm)
trap 'wait; rm -rf "$work"' EXIT

label='{{index .Config.Labels "wheelmill.stand-in"}}'

# stand_in NAME RECIPE FUNCTION ARGUMENT...: FUNCTION makes the image, unless there is one of the same RECIPE (any text).
stand_in() {
    local name=$1 recipe have started=$SECONDS
    recipe=$(sha256sum <<<"$2" | cut -c 1-16)
    shift 2
    have=$(docker image inspect --format "$label/{{index .Config.Labels \"wheelmill.stand-in.recipe\"}}" "$name" 2>/dev/null) || have=
    case $have in
    '') ;;
    "true/$recipe") echo "$name: made before" && return ;;
    true/*) echo "$name: made by another recipe, again" ;;
    *) echo "$name: is no stand-in; left as it is" && return ;;
    esac
    local labels=(wheelmill.stand-in=true "wheelmill.stand-in.recipe=$recipe") replaced
    replaced=$(docker image inspect --format '{{.Id}}' "$name" 2>/dev/null) || replaced=
    "$@"
    # Where nothing has its name any more and nothing is built on it, it goes.
    [ "$(docker image inspect --format '{{len .RepoTags}}' "$replaced" 2>/dev/null)" != 0 ] || docker image rm "$replaced" >/dev/null 2>&1 || true
    echo "$name: $((SECONDS - started)) s, $(docker image inspect --format '{{.Size}}' "$name" | numfmt --to=si)B"
}

# These read the name and the labels of stand_in.
import() { # FOLDER [CHANGE...]
    local folder=$1 changes=()
    shift
    for change in "$@" "${labels[@]/#/LABEL }"; do changes+=(--change "$change"); done
    tar -C "$folder" -c . | docker import "${changes[@]}" - "$name" >/dev/null
    rm -rf "$folder"
}

debian() {
    ./debian.sh "$work/debian"
    import "$work/debian" 'CMD ["/bin/bash"]'
}

manylinux() {
    ./manylinux.sh "$work/manylinux"
    import "$work/manylinux" 'ENTRYPOINT ["manylinux-entrypoint"]' 'CMD ["/bin/bash"]' \
        'ENV LANG=C.UTF-8 LC_ALL=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
}

toolkit() { # CUDA RELEASE
    "./cuda_${2/./_}.sh" "$work/devel-$2"
    cuda "$work/devel-$2" "$1"
}

runtime() { # CUDA DEVEL, the image whose libcudart it takes
    local libraries=/usr/local/cuda-${1%.*}/targets/x86_64-linux/lib container
    mkdir -p "$work/runtime-$1$libraries"
    container=$(docker create "$2")
    docker cp "$container:$libraries" - | tar -x -C "$work/runtime-$1$libraries/.." --wildcards 'lib/libcudart.so.*'
    docker rm "$container" >/dev/null
    cuda "$work/runtime-$1" "$1"
}

cuda() { # FOLDER CUDA
    docker build --quiet --tag "$name" "${labels[@]/#/--label=}" --build-arg "CUDA=$2" --file cuda.Dockerfile "$1" >"$1.log" 2>&1 ||
        { cat "$1.log" >&2 && return 1; }
    rm -rf "$1"
}

common=$(cat build.sh common.sh debian.sh)
pythons=$(python_prefixes)
stand_in wheelmill/stand-in:debian "$common" debian
stand_in almalinux:8 "$common" docker tag wheelmill/stand-in:debian almalinux:8

# Beside the toolkits: it mostly waits for installers, they for the decompression of packages.
stand_in quay.io/pypa/manylinux_2_28_x86_64:2026.10.21-1 "$common$pythons$(cat manylinux.sh ../../locks/manylinux.txt)" manylinux &
beside=$!

for release in "${releases[@]}"; do
    cuda=${toolkits[$release]}
    devel=nvidia/cuda:$cuda-devel-${systems[$release]}
    recipe=$common$(cat cuda.Dockerfile "cuda_${release/./_}.sh")
    stand_in "$devel" "$recipe" toolkit "$cuda" "$release"
    stand_in "nvidia/cuda:$cuda-runtime-${systems[$release]}" "$recipe" runtime "$cuda" "$devel"
done
wait "$beside"
echo "all: $SECONDS s"
