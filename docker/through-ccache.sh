#!/bin/sh
# A compiler, called through ccache: installed under the names nvcc, g++, gcc, c++ and cc.
#
# WHEELMILL_COMPILERS is a folder with ccache and with python-include, a link to the headers of this build's Python.
# Without it the compiler is called as it is.
set -eu

name=${0##*/}
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)

# The compiler itself: of the toolkit that this folder is made of, or the next one on PATH.
real=$here/../toolkit/bin/$name
if [ "$name" != nvcc ]; then
    real=
    old_ifs=$IFS IFS=:
    for folder in $PATH; do
        if [ "$folder" != "$here" ] && [ -x "$folder/$name" ]; then
            real=$folder/$name
            break
        fi
    done
    IFS=$old_ifs
    [ -n "$real" ] || { echo "$name: not found" >&2 && exit 127; }
fi
compilers=${WHEELMILL_COMPILERS:-}

compile='' output='' dependencies='' host='' overflow='' previous=''
for word; do
    shift
    case $word in
    -c | --compile) compile=yes ;;
    -ccbin | -ccbin=* | --compiler-bindir | --compiler-bindir=*) host=given ;;
    -MD | -MMD | --generate-*dependencies-with-compile) dependencies=given ;;
    # One path for the headers of every Python: what does not include them has one key then.
    -I*/include/python3.*) [ -z "$compilers" ] || word=-I$compilers/python-include ;;
    # CPython 3.12 changed one of these for the other; one of them gives one key, and the same code everywhere.
    -fwrapv | -fno-strict-overflow)
        overflow=given
        continue
        ;;
    esac
    case $previous in -o | --output-file) output=$word ;; esac
    previous=$word
    set -- "$@" "$word"
done
[ -z "$overflow" ] || set -- -fno-strict-overflow "$@"

if [ "$name" = nvcc ]; then
    # ccache does not know these variables: what they say must stand on the command line.
    # shellcheck disable=SC2086 # they hold several words
    set -- ${NVCC_PREPEND_FLAGS:-} "$@" ${NVCC_APPEND_FLAGS:-}
    [ -n "$host" ] || [ -z "${NVCC_CCBIN:-}" ] || set -- "$@" "-ccbin=$NVCC_CCBIN"
    unset NVCC_PREPEND_FLAGS NVCC_APPEND_FLAGS NVCC_CCBIN
fi
if [ -z "$compilers" ] || [ -z "$compile" ] || [ -z "$output" ]; then
    exec "$real" "$@"
fi
if [ "$name" = nvcc ]; then
    # nvcc lists the headers of all its passes, and ccache keys on them in depend mode. Its other modes read nvcc -E,
    # which shows the pass of one GPU architecture, and so return objects of other code.
    [ -n "$dependencies" ] || set -- "$@" -MD -MF "$output.d"
    export CCACHE_DEPEND=1
fi
exec "$compilers/ccache" "$real" "$@"
