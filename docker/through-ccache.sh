#!/bin/sh
# A compiler, called through ccache: installed under the names nvcc, g++, gcc, c++ and cc.
#
# WHEELMILL_COMPILERS is a folder with ccache and with python-include, a link to the headers of this build's Python.
# Without it nothing is cached.
# WHEELMILL_CXX_STANDARD is the C++ standard, such as 20, that older ones are raised to. Without it they stay.
# WHEELMILL_GENCODE, such as -gencode=arch=compute_90,code=sm_90, takes the place of the targets that nvcc is given, unless
# all of them are for one kind of GPU alone, such as sm_90a: the source is written for it; nor where the output is of one
# target (-ptx, -cubin, -optix-ir). Without it the source decides.
# WHEELMILL_PART, such as 2/4, is the part of the source in WHEELMILL_SOURCE that is compiled: every other unit comes out
# as an empty object. $WHEELMILL_COMPILERS/units lists what there is to divide. Without it everything is compiled.
set -eu

name=${0##*/}
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)

# The compiler itself: of the toolkit that this folder is made of, or the next one on PATH.
real=$here/../toolkit/$name
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
standard=${WHEELMILL_CXX_STANDARD:-}
gencode=''

# raise NAME: the standard of C++ that a name such as c++17 or gnu++1z is for, or the one that is asked for.
raise() {
    year=${1#*++}
    case $year in
    98 | 03 | 0x) year=3 ;;
    1y) year=14 ;;
    1z) year=17 ;;
    2a) year=20 ;;
    '' | *[!0-9]*) year=$standard ;;
    esac
    if [ "$year" -lt "$standard" ]; then echo "${1%%++*}++$standard"; else echo "$1"; fi
}

# portable WORD: flags for the processor that compiles become those for every one of its kind.
portable() {
    case $(uname -m) in aarch64) baseline=armv8-a ;; *) baseline=x86-64 ;; esac
    printf '%s' "$1" | sed "s/-march=native/-march=$baseline/g; s/-mtune=native/-mtune=generic/g; s/-mcpu=native/-mcpu=generic/g"
}

# is_of_another_part UNIT: whether another job compiles a source file. Its place in the list decides, which spreads files of
# one kind evenly; a file that the build generates is not listed, and its name decides.
is_of_another_part() {
    case $1 in /*) file=$1 ;; *) file=$PWD/$1 ;; esac
    case $file in
    */CMakeFiles/* | */meson-private/* | */conftest.* | */_configtest.*) return 1 ;; # a build tries the compiler
    "$WHEELMILL_SOURCE"/*) file=${file#"$WHEELMILL_SOURCE"/} ;;
    *) return 1 ;;
    esac
    place=$(grep -nxF -e "$file" "$compilers/units" | cut -d: -f1)
    [ -n "$place" ] || place=$(printf '%s' "$file" | cksum | cut -d' ' -f1)
    [ $((place % ${WHEELMILL_PART#*/} + 1)) -ne "${WHEELMILL_PART%/*}" ] || return 1
}

set -f # flags hold brackets: code=[sm_90,compute_90]
if [ "$name" = nvcc ]; then
    gencode=${WHEELMILL_GENCODE:-}
    # ccache does not know these variables: what they say must stand on the command line.
    # shellcheck disable=SC2086 # they hold several words
    set -- ${NVCC_PREPEND_FLAGS:-} "$@" ${NVCC_APPEND_FLAGS:-}
    unset NVCC_PREPEND_FLAGS NVCC_APPEND_FLAGS
fi

compile='' output='' unit='' dependencies='' host='' overflow='' cxx='' chosen='' previous=''
targets='' value_follows='' forward='' one_target=''
for word; do
    shift
    if [ -n "$gencode" ]; then
        is_target=$value_follows value_follows=''
        case $word in
        -gencode | --generate-code | -arch | --gpu-architecture | -code | --gpu-code) is_target=yes value_follows=yes ;;
        -gencode=* | --generate-code=* | -arch=* | --gpu-architecture=* | -code=* | --gpu-code=*) is_target=yes ;;
        esac
        if [ -n "$is_target" ]; then
            targets="$targets $word"
            case $word in *[0-9] | *[0-9],* | *[0-9]]* | *[0-9]\"* | *native | *all | *all-major) forward=yes ;; esac
            continue
        fi
    fi
    case $word in
    -c | --compile) compile=yes ;;
    -ptx | --ptx | -cubin | --cubin | -optix-ir | --optix-ir) one_target=yes ;;
    -ccbin | -ccbin=* | --compiler-bindir | --compiler-bindir=*) host=given ;;
    -MD | -MMD | --generate-*dependencies-with-compile) dependencies=given ;;
    *.cpp | *.cc | *.cxx | *.cu) cxx=yes unit=$word ;;
    *.c) unit=$word ;;
    # One path for the headers of every Python: what does not include them has one key then.
    -I*/include/python3.* | -isystem*/include/python3.*)
        [ -z "$compilers" ] || word=${word%%/*}$compilers/python-include
        ;;
    /*/include/python3.*)
        case $previous in
        -I | -isystem | --include-path | --system-include) [ -z "$compilers" ] || word=$compilers/python-include ;;
        esac
        ;;
    # CPython 3.12 changed one of these for the other; one of them gives one key, and the same code everywhere.
    -fwrapv | -fno-strict-overflow)
        overflow=given
        continue
        ;;
    esac
    # The machine that compiles must not decide which machines run the wheel.
    case $previous,$word in
    *,*-march=native* | *,*-mtune=native* | *,*-mcpu=native*) word=$(portable "$word") ;;
    *,-arch=native | *,--gpu-architecture=native | -arch,native | --gpu-architecture,native) word=${word%native}all-major ;;
    esac
    case $previous in -o | --output-file) output=$word ;; esac
    # A flag of the host compiler may stand among others: -Xcompiler=-fPIC,-std=c++17
    case $previous,$word in
    *,*-std=c++* | *,*-std=gnu++*) flag=${word%%-std=*}-std= ;;
    -std,* | --std,*) flag='' ;;
    *) flag=none ;;
    esac
    if [ "$flag" != none ]; then
        chosen=yes
        rest=${word#"$flag"}
        asked=${rest%%,*}
        [ -z "$standard" ] || word=$flag$(raise "$asked")${rest#"$asked"}
    fi
    previous=$word
    set -- "$@" "$word"
done
[ -z "$overflow" ] || set -- -fno-strict-overflow "$@"
[ -z "$standard" ] || [ -z "$cxx" ] || [ -n "$chosen" ] || set -- "-std=c++$standard" "$@"

if [ -n "$one_target" ] || { [ -n "$targets" ] && [ -z "$forward" ]; }; then gencode=$targets; fi
# shellcheck disable=SC2086 # it holds several words
set -- "$@" $gencode

if [ "$name" = nvcc ]; then
    [ -n "$host" ] || [ -z "${NVCC_CCBIN:-}" ] || set -- "$@" "-ccbin=$NVCC_CCBIN"
    unset NVCC_CCBIN
fi
if [ -z "$compilers" ] || [ -z "$compile" ] || [ -z "$output" ]; then
    exec "$real" "$@"
fi
if [ -n "${WHEELMILL_PART:-}" ] && [ -n "$unit" ]; then
    if is_of_another_part "$unit"; then
        echo "$unit" >> "$CCACHE_DIR/others"
        exec as --noexecstack -o "$output" /dev/null
    fi
    echo "$unit" >> "$CCACHE_DIR/ours"
fi
if [ "$name" = nvcc ]; then
    # nvcc lists the headers of all its passes, and ccache keys on them in depend mode. Its other modes read nvcc -E,
    # which shows the pass of one GPU architecture, and so return objects of other code.
    [ -n "$dependencies" ] || set -- "$@" -MD -MF "$output.d"
    export CCACHE_DEPEND=1
fi
# A mark shows what compiles, for nvcc is silent for minutes: a file with the unit's name, empty once it is done.
mark=${CCACHE_DIR:-/dev/null}/unit.$$.${unit##*/}
{ echo > "$mark"; } 2> /dev/null || true
status=0
"$compilers/ccache" "$real" "$@" || status=$?
{ true > "$mark"; } 2> /dev/null || true
exit "$status"
