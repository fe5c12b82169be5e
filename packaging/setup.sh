#!/bin/sh
# Set up everything: the Python environment in .venv/, its packages and, on Debian and Ubuntu, system libraries.
#
#   packaging/setup.sh run     set up what Slipstream needs to run
#   packaging/setup.sh test    also set up what the tests need
#
# Returns immediately if nothing has changed: a stamp in .venv/ holds the hash of everything that set-up depends on. Changes nothing outside
# the project folder except system packages. PYTHON=/path/to/python3.12 selects the Python of a new environment.
set -eu
cd "$(dirname "$0")/.."

level=${1:-run}
case "$level" in run) extra="" ;; test) extra="[test]" ;; *) echo "usage: packaging/setup.sh run|test" >&2; exit 2 ;; esac

# The hash includes the folder's path, because a virtual environment can't be moved.
hash=$({ pwd; cat pyproject.toml packaging/constraints.txt packaging/setup.sh packaging/system.sh; } | cksum)
wanted_python() { [ -z "${PYTHON:-}" ] || [ "$(cat .venv/slipstream-python 2>/dev/null)" = "$PYTHON" ]; }
stamped() { [ "$(cat ".venv/slipstream-$1" 2>/dev/null)" = "$hash" ]; }
done_already() { wanted_python && { stamped test || stamped "$level"; }; }
if done_already; then exit 0; fi

stop() {
    printf '%s\n' "$@" >&2
    exit 1
}

# One set-up at a time: a second one waits for the first and then finds its stamp.
lock=.setup-lock
until mkdir "$lock" 2>/dev/null; do
    [ -w . ] || stop "This folder is read-only: $(pwd). Copy Slipstream to a folder that you can write to."
    holder=$(cat "$lock/pid" 2>/dev/null || true)
    if [ -n "$holder" ] && ! kill -0 "$holder" 2>/dev/null; then
        rm -rf "$lock" # left behind by a set-up that was killed
    else
        [ -n "${waiting:-}" ] || echo "Waiting for another set-up in this folder." >&2
        waiting=yes
        sleep 1
    fi
done
echo $$ >"$lock/pid"
trap 'rm -rf "$lock"' EXIT
trap 'exit 130' INT TERM HUP
if done_already; then exit 0; fi

# --- Unsupported machines ------------------------------------------------------------------------------------------------------------
system=$(uname -s)
case "$system $(uname -m)" in
"Darwin arm64")
    [ "$(sw_vers -productVersion | cut -d. -f1)" -ge 14 ] ||
        stop "Slipstream needs macOS 14 or later. This Mac has macOS $(sw_vers -productVersion)."
    ;;
"Darwin "*)
    [ "$(sysctl -n hw.optional.arm64 2>/dev/null || true)" != 1 ] ||
        stop "This terminal uses Rosetta. Open it without Rosetta and run the command again."
    stop "Slipstream needs a Mac with Apple silicon (M1 or later). MLX does not run on Intel Macs."
    ;;
"Linux x86_64" | "Linux aarch64")
    libc=$(getconf GNU_LIBC_VERSION 2>/dev/null | cut -d' ' -f2)
    case "${libc:-none}" in
    none | 1.* | 2.[0-9] | 2.[0-2][0-9] | 2.3[0-4])
        stop "Slipstream needs glibc 2.35 or later (Ubuntu 22.04, Debian 12, Fedora 36). This system has ${libc:-another C library}."
        ;;
    esac
    ;;
*) stop "Slipstream runs on Macs with Apple silicon and on Linux (x86-64, aarch64), not on $system $(uname -m)." ;;
esac

packaging/system.sh install "$level"

# --- Python --------------------------------------------------------------------------------------------------------------------------
# Ignore user settings that would install packages elsewhere, and keep caches out of the home folder.
unset PYTHONHOME PYTHONPATH PIP_USER PIP_TARGET PIP_PREFIX PIP_REQUIRE_VIRTUALENV
export PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PIP_ROOT_USER_ACTION=ignore
export RUSTUP_HOME="$PWD/.venv/rustup" # pip runs rustc, and rustup would write to the home folder
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
with_debian_package() { # Debian has the venv module in a separate package
    command -v apt-get >/dev/null 2>&1 || return 1
    if [ "$(id -u)" -eq 0 ]; then root=""; elif sudo -n true 2>/dev/null; then root="sudo -n"; else return 1; fi
    echo "Installing system packages: python3 python3-venv" >&2
    $root apt-get update -qq >/dev/null &&
        $root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3 python3-venv >/dev/null &&
        with_python
}

explain_python() {
    if [ -n "${PYTHON:-}" ]; then
        stop "PYTHON=$PYTHON is not Python 3.11, 3.12 or 3.13 with the venv module."
    elif [ "$system" = Darwin ]; then
        stop "Slipstream needs uv or Python 3.11, 3.12 or 3.13. Install one of them and run the command again:" \
            "    brew install uv" "or Python 3.12 from python.org."
    elif found=$(find_python fits); then
        stop "$found cannot create virtual environments. Install the missing package and run the command again:" \
            "    $(packaging/system.sh getting python3-venv)"
    fi
    stop "Slipstream needs Python 3.11, 3.12 or 3.13, but none was found. Install one and run the command again, for example:" \
        "    $(packaging/system.sh getting "python3 python3-venv")"
}

# Create the environment again if it was made by something else, was moved, or lost its Python. Everything in .venv/ is ours.
if [ "$(cat .venv/slipstream-place 2>/dev/null)" != "$PWD" ] || ! fits .venv/bin/python || ! wanted_python; then
    echo "Creating a Python environment in .venv/" >&2
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
log=.venv/pip.log # shown only if pip fails
pip() { .venv/bin/python -m pip install --quiet --constraint packaging/constraints.txt "$@" 2>>"$log"; }
explain_packages() {
    tail -n 12 "$log" >&2
    if grep -qiE 'connection|name resolution|timed out' "$log"; then
        stop "" "The Python packages could not be downloaded, because the package index cannot be reached." \
            "Connect to the network and run the command again. Set-up continues where it stopped."
    fi
    stop "" "The Python packages could not be installed. The error is shown above, and in full in $log." \
        "To start again, run \`make clean\`."
}
rm -f "$log"
# The build tool first, so that building Slipstream itself needs no network.
{ pip pip setuptools && pip --no-build-isolation --editable ".$extra"; } || explain_packages
printf '%s\n' "$hash" >".venv/slipstream-$level"
