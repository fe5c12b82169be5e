#!/bin/sh
# Slipstream compared with other decoders, in an environment of its own under build/: tests/peers/run.sh [--runs 3] [--json] for speed,
# tests/peers/run.sh --host for what a round costs the host, tests/peers/run.sh --dspark for DSpark next to mlx-dspark,
# tests/peers/run.sh --chains for MTP, EAGLE-3, and Gemma 4 assistants next to mlx-vlm, tests/peers/run.sh --images for replies to images,
# tests/peers/run.sh --streams for several replies at the same time.
set -eu
cd "$(dirname "$0")/../.."
packaging/setup.sh run
place=build/peers
peers="dflash==0.1.0 dflash-mlx==0.1.8 mlx-dspark==0.20.3 mlx-vlm==0.7.10"
if [ "$(cat "$place/ready" 2>/dev/null)" != "$peers" ]; then
    echo "Making an environment for the comparison in $place/" >&2
    rm -rf "$place"
    .venv/bin/python -m venv "$place"
    pip() { PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 "$place/bin/python" -m pip install -qq "$@"; }
    pip --constraint packaging/constraints.txt "mlx[cpu]; sys_platform == 'linux'" "mlx; sys_platform == 'darwin'" mlx-lm platformdirs \
        pydantic requests==2.34.2 Pillow==13.0.0 pi-heif==1.4.0
    # without what they ask for besides: their decoding loops need none of it, and it would bring other versions of MLX
    pip --no-deps $peers
    echo "$peers" >"$place/ready"
fi
pwd >"$("$place/bin/python" -c "import site; print(site.getsitepackages()[0])")/slipstream.pth"  # for child processes
bench=peers
case "${1:-}" in
    --host | --dspark | --chains | --images)
        bench=${1#--}
        shift
        ;;
    --streams)
        bench=stream_peers
        shift
        ;;
esac
exec "$place/bin/python" -m "tests.benchmarks.$bench" "$@"
