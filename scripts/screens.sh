#!/usr/bin/env bash
# Draws each screen in four sizes and two themes into screens/.
set -euo pipefail
# shellcheck source=scripts/env.sh
source "$(dirname "$0")/env.sh"

need_command cargo "install Rust 1.90 or newer"
cd "$TILLGATE_ROOT"

scripts/ui-packages.sh
npm --prefix ui run build
rm -rf screens
SCREENS="$TILLGATE_ROOT/screens" WINDOW_SCREEN=1920x1200 cargo test --locked --workspace \
    --features "$DESKTOP_FEATURES" --test window -- --ignored --nocapture each_screen_is_drawn
du -sh screens
