# shellcheck shell=sh
# Names of this machine's package manager, and calls of pip and uv: the other scripts source it.

# install_hint APT DNF: the command that installs packages here, named as either manager names them.
install_hint() {
    if command -v dnf >/dev/null; then echo "sudo dnf install $2"; else echo "sudo apt-get install $1"; fi
}

# The Pythons that the lock has wheels for, the newest first; ci.yml runs the tests on each.
PYTHONS="3.14 3.13 3.12 3.11"

# find_python: the path of one of them; PYTHON comes first, then python3. Exits with 2 where there is none.
find_python() {
    # shellcheck disable=SC2086 # a word each
    for candidate in ${PYTHON:-} python3 $(printf 'python%s ' $PYTHONS); do
        if "$candidate" -c 'import sys; sys.exit("%d.%d" % sys.version_info[:2] not in sys.argv)' $PYTHONS 2>/dev/null; then
            command -v "$candidate"
            return
        fi
    done
    package=python3 # on Ubuntu 22.04 that is 3.10, and there is a python3.11 beside it
    for version in $PYTHONS; do
        if apt-cache pkgnames "python$version" 2>/dev/null | grep -qx "python$version"; then
            package=python$version
            break
        fi
    done
    echo "error: Python ${PYTHONS##* } to ${PYTHONS%% *} is needed; set PYTHON to it, or:" \
        "$(install_hint "$package $package-venv $package-dev" "python3.12 python3.12-devel")" >&2
    exit 2
}

# check_python PYTHON: exits with 2 where that Python cannot make environments or compile extensions.
check_python() {
    "$1" -c 'import ensurepip, venv, os, sysconfig; os.stat(sysconfig.get_paths()["include"] + "/Python.h")' 2>/dev/null && return
    program=$("$1" -c 'import os, sys; print(os.path.realpath(sys.executable))')
    if owner=$(dpkg-query --search "$program" 2>/dev/null); then
        owner=${owner%%:*}
        owner=${owner%-minimal}
        hint="sudo apt-get install $owner-venv $owner-dev"
    elif owner=$(rpm --query --file --queryformat '%{NAME}' "$program" 2>/dev/null); then
        hint="sudo dnf install $owner-devel"
    else
        hint="set PYTHON to one that has both"
    fi
    echo "error: $1 lacks its venv module or its headers: $hint" >&2
    exit 2
}

# check_compiler: exits with 2 where there is no C++ compiler.
check_compiler() {
    command -v g++ >/dev/null && return
    echo "error: a C++ compiler is needed: $(install_hint g++ gcc-c++)" >&2
    exit 2
}

# pip PYTHON ARGUMENT...: pip as this machine is set up, but for constraints: they would choose a version. An empty
# variable does not lift one that stands in a file, and --isolated would lose the index, too.
pip() {
    python_of_pip=$1
    shift
    PIP_CONSTRAINT=/dev/null "$python_of_pip" -m pip --disable-pip-version-check "$@"
}

# compile_lock UV ARGUMENT...: uv pip compile with hashes, for every system. Of uv's settings only those of the index count,
# as above. It reads no uv.toml, so an index that stands there alone has to be named in UV_DEFAULT_INDEX.
compile_lock() (
    uv=$1
    shift
    index=${UV_DEFAULT_INDEX:-${UV_INDEX_URL:-${PIP_INDEX_URL:-$("${uv%/*}/python" -m pip config get global.index-url 2>/dev/null || true)}}}
    for name in $(env | sed -n 's/^\(UV_[A-Z_]*\)=.*/\1/p'); do
        case $name in
        UV_INDEX_*_USERNAME | UV_INDEX_*_PASSWORD | UV_CACHE_DIR | UV_HTTP_TIMEOUT | UV_INSECURE_HOST | UV_NATIVE_TLS | UV_SYSTEM_CERTS) ;;
        *) unset "$name" ;;
        esac
    done
    [ -z "$index" ] || export UV_DEFAULT_INDEX="$index"
    "$uv" pip compile --quiet --no-config --universal --generate-hashes --no-emit-index-url --no-annotate --python-version 3.11 "$@"
)
