#!/usr/bin/env bash
# Builds Tillgate and starts it on the built-in sandbox: the window where there is a display, else the
# gateway alone. A debug build, because the sandbox needs no speed and the first start comes sooner.
set -euo pipefail
# shellcheck source=scripts/env.sh
source "$(dirname "$0")/env.sh"

need_command cargo "install Rust 1.90 or newer"
cd "$TILLGATE_ROOT"

if [[ -z "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ]]; then
    scripts/install-packages.sh headless
    cargo build -p tillgate-desktop --bin tillgate
    say "there is no display: starting the gateway without a window; stop it with Ctrl-C"
    exec "$CARGO_TARGET_DIR/debug/tillgate" serve "$@"
fi

need_command npm "install Node.js 20 or newer"
scripts/install-packages.sh desktop
scripts/ui-packages.sh
# The panel is bundled again only when one of its sources is newer than the last bundle.
if [[ ! -e ui/dist/index.html || -n "$(find ui -path ui/node_modules -prune -o -path ui/dist -prune -o \
    -type f -newer ui/dist/index.html -print -quit)" ]]; then
    npm --prefix ui run build
fi
# Both programs: the window, and the command line that works beside it.
cargo build -p tillgate-desktop --bins --features "$DESKTOP_FEATURES"
exec "$CARGO_TARGET_DIR/debug/tillgate-desktop" "$@"
