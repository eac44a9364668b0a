#!/usr/bin/env bash
# Starts the window on the built-in sandbox with the panel from Vite's server: a change of the panel shows
# at once, and a change of the Rust sources builds and starts the program again.
set -euo pipefail
# shellcheck source=scripts/env.sh
source "$(dirname "$0")/env.sh"

need_command cargo "install Rust 1.90 or newer"
need_command npm "install Node.js 20 or newer"
cd "$TILLGATE_ROOT"
[[ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ]] || fail "there is no display for the window: use make run"
scripts/install-packages.sh desktop
scripts/ui-packages.sh
# Cargo builds the program again each time while this folder is missing.
mkdir -p ui/dist
# The tool starts Vite, then the program without the feature custom-protocol: with it, the window would
# show the bundled panel.
exec npx --prefix ui tauri dev -- --locked -- "$@"
