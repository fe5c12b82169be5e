#!/bin/sh
# Writes packaging/macos/pythonX.Y.txt, or the same files into the folder given as argument: the version of every package on a Mac.
# Needs uv, which evaluates markers for the Mac. pip evaluates them for the machine it runs on, so it leaves out mlx-metal and pyobjc.
set -eu
cd "$(dirname "$0")/../.."
to=${1:-packaging/macos}
export MACOSX_DEPLOYMENT_TARGET=14.0 # the minimum system, so that every version has a wheel for it
for version in 3.12 3.13; do
    uv pip compile --quiet --no-header --no-annotate --upgrade --python-platform aarch64-apple-darwin --python-version "$version" \
        --constraint packaging/constraints.txt pyproject.toml --output-file "$to/python$version.txt"
done
