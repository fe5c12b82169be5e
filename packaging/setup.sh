#!/bin/sh
# All set-up, from nothing: Python environment in .venv/, packages, on Debian and Ubuntu the system libraries.
#
#   packaging/setup.sh run     what running Slipstream needs
#   packaging/setup.sh test    that, and what the tests need
#
# Quick when there is nothing to do: a stamp in .venv/ holds the hash of all that set-up depends on. Nothing outside the project folder
# is touched but system packages. PYTHON=/path/to/python3.12 chooses the Python of a new environment.
set -eu
cd "$(dirname "$0")/.."

level=${1:-run}
case "$level" in run) extra="" ;; test) extra="[test]" ;; *) echo "usage: packaging/setup.sh run|test" >&2; exit 2 ;; esac

# The folder's path belongs to the hash because a virtual environment cannot be moved.
hash=$({ pwd; cat pyproject.toml packaging/constraints.txt packaging/setup.sh packaging/system.sh; } | cksum)
wanted_python() { [ -z "${PYTHON:-}" ] || [ "$(cat .venv/slipstream-python 2>/dev/null)" = "$PYTHON" ]; }
stamped() { [ "$(cat ".venv/slipstream-$1" 2>/dev/null)" = "$hash" ]; }
done_already() { wanted_python && { stamped test || stamped "$level"; }; }
if done_already; then exit 0; fi

stop() {
    printf '%s\n' "$@" >&2
    exit 1
}

# One set-up at a time: a second one waits for the first, then finds its stamp.
lock=.setup-lock
until mkdir "$lock" 2>/dev/null; do
    [ -w . ] || stop "This folder cannot be written to: $(pwd). Copy Slipstream to a folder of your own."
    holder=$(cat "$lock/pid" 2>/dev/null || true)
    if [ -n "$holder" ] && ! kill -0 "$holder" 2>/dev/null; then
        rm -rf "$lock" # left by a set-up that was killed
    else
        [ -n "${waiting:-}" ] || echo "Another set-up is running in this folder; waiting for it." >&2
        waiting=yes
        sleep 1
    fi
done
echo $$ >"$lock/pid"
trap 'rm -rf "$lock"' EXIT
trap 'exit 130' INT TERM HUP
if done_already; then exit 0; fi

# --- Machines that MLX cannot run on -------------------------------------------------------------------------------------------------
system=$(uname -s)
case "$system $(uname -m)" in
"Darwin arm64")
    [ "$(sw_vers -productVersion | cut -d. -f1)" -ge 14 ] ||
        stop "Slipstream needs macOS 14 or newer; this is macOS $(sw_vers -productVersion)."
    ;;
"Darwin "*)
    [ "$(sysctl -n hw.optional.arm64 2>/dev/null || true)" != 1 ] ||
        stop "This terminal runs as an Intel program. Open it without Rosetta and run the command again."
    stop "Slipstream needs a Mac with Apple silicon (M1 or later); MLX does not run on Intel Macs."
    ;;
"Linux x86_64" | "Linux aarch64")
    libc=$(getconf GNU_LIBC_VERSION 2>/dev/null | cut -d' ' -f2)
    case "${libc:-none}" in
    none | 1.* | 2.[0-9] | 2.[0-2][0-9] | 2.3[0-4])
        stop "Slipstream needs glibc 2.35 or newer (Ubuntu 22.04, Debian 12, Fedora 36); this system has ${libc:-another C library}."
        ;;
    esac
    ;;
*) stop "Slipstream runs on Macs with Apple silicon and on Linux (x86-64, aarch64), not on $system $(uname -m)." ;;
esac

packaging/system.sh install "$level"

# --- Python --------------------------------------------------------------------------------------------------------------------------
# Settings of the user's own that would send packages elsewhere, and caches that would grow in the home folder.
unset PYTHONHOME PYTHONPATH PIP_USER PIP_TARGET PIP_PREFIX PIP_REQUIRE_VIRTUALENV
export PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PIP_ROOT_USER_ACTION=ignore
export RUSTUP_HOME="$PWD/.venv/rustup" # pip asks rustc for its version, and rustup then writes to the home folder
export UV_CACHE_DIR="$PWD/.uv/cache" UV_PYTHON_INSTALL_DIR="$PWD/.uv/python" UV_PYTHON_INSTALL_BIN=0

fits() { "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' >/dev/null 2>&1; }
can_build() { fits "$1" && "$1" -c 'import ensurepip, venv' >/dev/null 2>&1; }
find_python() { # find_python TEST
    for candidate in ${PYTHON:-python3.12 python3.13 python3.11 python3 python}; do
        if "$1" "$candidate"; then command -v "$candidate" && return 0; fi
    done
    return 1
}

with_uv() { command -v uv >/dev/null 2>&1 && uv venv --quiet --seed --python ">=3.11,<3.14" .venv >&2; }
with_python() { python=$(find_python can_build) && "$python" -m venv .venv >&2; }
with_debian_package() { # Debian keeps the part of Python that makes environments in a package of its own
    command -v apt-get >/dev/null 2>&1 || return 1
    if [ "$(id -u)" -eq 0 ]; then root=""; elif sudo -n true 2>/dev/null; then root="sudo -n"; else return 1; fi
    echo "Installing system packages: python3 python3-venv" >&2
    $root apt-get update -qq >/dev/null &&
        $root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3 python3-venv >/dev/null &&
        with_python
}

explain_python() {
    if [ -n "${PYTHON:-}" ]; then
        stop "PYTHON=$PYTHON is not a Python 3.11, 3.12 or 3.13 that can make virtual environments."
    elif [ "$system" = Darwin ]; then
        stop "Slipstream needs uv or Python 3.11 to 3.13, and neither is here. Install one of them and run the command again:" \
            "    brew install uv" "or Python 3.12 from python.org."
    elif found=$(find_python fits); then
        stop "$found cannot make virtual environments. Install the missing part and run the command again:" \
            "    $(packaging/system.sh getting python3-venv)"
    fi
    stop "Slipstream needs Python 3.11, 3.12 or 3.13, and none was found. Install it and run the command again, for instance:" \
        "    $(packaging/system.sh getting "python3 python3-venv")"
}

# An environment of another set-up, another folder or a Python that has gone is made anew. Everything in .venv/ is ours.
if [ "$(cat .venv/slipstream-place 2>/dev/null)" != "$PWD" ] || ! fits .venv/bin/python || ! wanted_python; then
    echo "Making a Python environment in .venv/" >&2
    rm -rf .venv
    if [ "$system" = Darwin ] && [ -z "${PYTHON:-}" ]; then
        with_uv || with_python || explain_python
    else
        with_python || { [ -z "${PYTHON:-}" ] && { with_uv || with_debian_package; }; } || explain_python
    fi
    pwd >.venv/slipstream-place
    echo "${PYTHON:-}" >.venv/slipstream-python
fi

# --- Packages ------------------------------------------------------------------------------------------------------------------------
echo "Installing Python packages into .venv/ (about half a gigabyte the first time)" >&2
rm -f .venv/slipstream-run .venv/slipstream-test
log=.venv/pip.log # what pip remarks is of interest only when it fails
pip() { .venv/bin/python -m pip install --quiet --constraint packaging/constraints.txt "$@" 2>>"$log"; }
explain_packages() {
    tail -n 12 "$log" >&2
    if grep -qiE 'connection|name resolution|timed out' "$log"; then
        stop "" "The Python packages could not be fetched: the package index cannot be reached." \
            "Connect to the network and run the command again; set-up goes on where it stopped."
    fi
    stop "" "The Python packages could not be installed. The reason stands above, and at length in $log." \
        "\`make clean\` removes the environment, for a fresh start."
}
rm -f "$log"
# The build tool first: with it in the environment, building Slipstream itself asks the network for nothing.
{ pip pip setuptools && pip --no-build-isolation --editable ".$extra"; } || explain_packages
printf '%s\n' "$hash" >".venv/slipstream-$level"
