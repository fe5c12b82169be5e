#!/bin/sh
# `make test` and `make test-all`: run the tests. Arguments are passed to pytest.
set -eu
cd "$(dirname "$0")/.."

# In the wheel's BLAS, passes of 1 row and of n rows agree bit for bit. The offscreen platform needs no screen.
export SLIPSTREAM_BLAS=wheel QT_QPA_PLATFORM=offscreen HF_HUB_OFFLINE=1
# Without bytecode files, each of the many processes that tests start compiles every module again.
unset PYTHONPATH PYTHONDONTWRITEBYTECODE

command=$(packaging/system.sh command screenless)
[ -n "$command" ] || exec .venv/bin/python -m pytest "$@"

# Qt can't load. Run the tests that don't need it, then fail.
.venv/bin/python -m pytest -p no:pytest-qt --override-ini qt_api= --ignore=tests/app "$@" || true
echo "The tests of the window cannot run, because Qt needs system packages that are missing. To install them: $command" >&2
exit 1
