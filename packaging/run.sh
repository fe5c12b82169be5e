#!/bin/sh
# `make run`: the window where there is a screen, else the chat in the terminal, else a sample question answered both ways.
set -eu
cd "$(dirname "$0")/.."
packaging/setup.sh run

slipstream=.venv/bin/slipstream
how="To get the window, run \`make run\` on a desktop, over \`ssh -X\`, or under \`xvfb-run\`."

has_screen() {
    if [ "$(uname -s)" = Darwin ]; then [ -z "${SSH_CONNECTION:-}" ]; else [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ]; fi
}

if has_screen; then
    command=$(packaging/system.sh command window)
    if [ -n "$command" ]; then
        how="The window needs system packages that are not here. To get them: $command"
    else
        status=0
        started=$(date +%s)
        .venv/bin/python -m app "$@" || status=$?
        # Qt aborts (134) when it cannot reach the display. Later than that it is no start that failed.
        if [ "$status" -ne 134 ] || [ $(($(date +%s) - started)) -gt 15 ]; then exit "$status"; fi
        how="The window could not open on the display “${DISPLAY:-${WAYLAND_DISPLAY:-}}”; what Qt said stands above."
    fi
fi

echo "$how" >&2
if [ -t 0 ] && [ -t 1 ]; then
    exec "$slipstream" chat
fi
question="How many divisors does 84 have?"
echo "Answering a sample question plainly and with DFlash: $question" >&2
"$slipstream" compare "$question"
