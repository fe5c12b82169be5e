#!/bin/sh
# `make run`: the window if there is a screen, otherwise the chat in the terminal, otherwise a sample comparison.
set -eu
cd "$(dirname "$0")/.."
packaging/setup.sh run

slipstream=.venv/bin/slipstream
how="To open the window, run \`make run\` on a desktop, over \`ssh -X\`, or under \`xvfb-run\`."

has_screen() {
    if [ "$(uname -s)" = Darwin ]; then [ -z "${SSH_CONNECTION:-}" ]; else [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ]; fi
}

if has_screen; then
    command=$(packaging/system.sh command window)
    if [ -n "$command" ]; then
        how="The window needs system packages that are missing. To install them: $command"
    else
        status=0
        started=$(date +%s)
        .venv/bin/python -m app "$@" || status=$?
        # Qt aborts (134) if it can't reach the display. After 15 seconds, an abort has another cause.
        if [ "$status" -ne 134 ] || [ $(($(date +%s) - started)) -gt 15 ]; then exit "$status"; fi
        how="The window could not open on the display “${DISPLAY:-${WAYLAND_DISPLAY:-}}”. Qt's message is shown above."
    fi
fi

if [ -t 0 ] && [ -t 1 ]; then
    echo "$how" >&2
    exec "$slipstream" chat
fi
question="How many divisors does 84 have?"
echo "Answering a sample question without and with DFlash: $question" >&2
status=0
"$slipstream" compare "$question" || status=$?
echo "$how" >&2
exit "$status"
