# shellcheck shell=bash
# What the scripts of this folder share; they source it.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/wheelmill/stand-ins
export ROOT CACHE
mkdir -p "$CACHE"
umask 022 # what is in an image is for all of its users

# The host's own mirror of Debian, so that no host name stands here.
# shellcheck disable=SC2016 # apt-get reads $(SITE)
debian_mirror() { apt-get indextargets --format '$(SITE)' 'Identifier: Packages' 'Label: Debian' | sort -u | sed 1q; }

# The prefixes of the CPythons for the manylinux stand-in: those of the variable PYTHONS, else pyenv's newest of each
# of MINORS.
python_prefixes() {
    if [ -n "${PYTHONS:-}" ]; then
        xargs -n 1 <<<"$PYTHONS"
    elif command -v pyenv >/dev/null; then
        local minor
        for minor in ${MINORS:-3.11 3.12}; do
            find "$(pyenv root)/versions" -maxdepth 1 -name "$minor.*" | sort -V | tail -n 1
        done
    else
        echo "error: no pyenv here; set PYTHONS to the prefixes of CPythons with pip, with spaces between" >&2
        return 2
    fi
}
