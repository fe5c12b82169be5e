#!/bin/sh
# `make test` and `make test-all`: the tests, with this script's arguments handed to pytest.
set -eu
cd "$(dirname "$0")/.."

# The wheel's BLAS, because its passes of 1 and of n rows agree bit for bit; the offscreen platform, because tests have no screen.
export SLIPSTREAM_BLAS=wheel QT_QPA_PLATFORM=offscreen HF_HUB_OFFLINE=1
unset PYTHONPATH

command=$(packaging/system.sh command screenless)
[ -n "$command" ] || exec .venv/bin/python -m pytest "$@"

# Qt cannot load: what needs it fails with this sentence, the rest is tested.
.venv/bin/python -m pytest -p no:pytest-qt --override-ini qt_api= --ignore=tests/app "$@" || true
echo "The tests of the window cannot run: Qt needs system packages that are not here. To get them: $command" >&2
exit 1
