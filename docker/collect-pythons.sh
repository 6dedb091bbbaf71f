#!/usr/bin/env bash
# collect-pythons.sh DESTINATION: copies the CPythons of a manylinux image and every library outside glibc that they
# need, so that they run on another base (manylinux's need AlmaLinux 8's libffi.so.6, OpenSSL 1.1 and others).
#
# Each file names its libraries by their full paths, so nothing is searched for. Any search path would serve them to the
# wheel under test as well: LD_LIBRARY_PATH and ld.so.conf.d to every file, DT_RPATH in bin/python to whatever Python
# loads, DT_RUNPATH in _ctypes to whatever ctypes is asked for.
set -euo pipefail

destination=$1
libraries=/opt/wheelmill/python-libraries

# Parts of glibc come from the base: two of them in one process do not work.
glibc='^(ld-linux.*|lib(anl|BrokenLocale|c|dl|m|mvec|pthread|resolv|rt|thread_db|util))\.so'

fail() {
    echo "error: $*" >&2
    exit 1
}

# Replaces the names of libraries in a copied file by the paths of their copies.
name_by_path() {
    local file=$1 name changes=(--remove-rpath)
    while read -r name; do
        [[ $name =~ $glibc ]] || changes+=(--replace-needed "$name" "$libraries/$name")
    done < <(patchelf --print-needed "$file")
    [ ${#changes[@]} -eq 1 ] || patchelf "${changes[@]}" "$file"
}

# Copies the libraries that a file needs, directly or through others.
declare -A came_from
bring_libraries() {
    local file=$1 name path
    while read -r name path; do
        [ "$path" != not ] || fail "$file needs $name, which this image lacks"
        [[ ! $name =~ $glibc ]] || continue
        path=$(readlink -f "$path")
        if [ -z "${came_from[$name]:-}" ]; then
            cp "$path" "$destination$libraries/$name"
            name_by_path "$destination$libraries/$name"
            came_from[$name]=$path
        elif [ "${came_from[$name]}" != "$path" ]; then
            fail "$name is both ${came_from[$name]} and $path"
        fi
    done < <(ldd "$file" | awk '$2 == "=>" { print $1, $3 }')
    name_by_path "$destination$file"
}

# A clean room has no screen and compiles nothing; fewer files also make a quicker image.
unneeded=(include test idlelib tkinter turtledemo lib2to3 'config-*' 'libpython*' '_tkinter.*' '*.opt-?.pyc')

mkdir -p "$destination/opt/python" "$destination$libraries"
for link in /opt/python/cp*-cp*; do # PyPy's and GraalPy's names begin otherwise
    prefix=$(readlink -f "$link")
    tar -c -C / "${unneeded[@]/#/--exclude=}" "${prefix#/}" | tar -x -C "$destination"
    [ "$prefix" = "$link" ] || ln -s "$prefix" "$destination$link"
    while read -r file; do
        bring_libraries "${file#"$destination"}"
    done < <(find "$destination$prefix"/{bin,lib/python*/lib-dynload} -type f \( -name 'python3*[0-9t]' -o -name '*.so' \))
done
