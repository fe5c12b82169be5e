#!/bin/sh
# Writes packaging/macos/pythonX.Y.txt: every package of a Mac, at one version each, by a resolver that evaluates markers for the Mac.
# (pip evaluates them for the machine it runs on, and so leaves out mlx-metal and pyobjc anywhere else.) Needs uv.
# With a folder as argument the files are written there.
set -eu
cd "$(dirname "$0")/../.."
to=${1:-packaging/macos}
export MACOSX_DEPLOYMENT_TARGET=14.0 # the oldest system that is served, so that every version has a wheel for it
for version in 3.12 3.13; do
    uv pip compile --quiet --no-header --no-annotate --upgrade --python-platform aarch64-apple-darwin --python-version "$version" \
        --constraint packaging/constraints.txt pyproject.toml --output-file "$to/python$version.txt"
done
