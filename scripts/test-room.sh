#!/usr/bin/env bash
# Runs the tests of one room: a crate of src-tauri (chain, store, http, …), a folder of the gateway
# (payouts, watcher, …), or the panel (ui).
#   test-room.sh payouts
set -euo pipefail
# shellcheck source=scripts/env.sh
source "$(dirname "$0")/env.sh"
cd "$TILLGATE_ROOT"

room="${1:?a room, such as payouts or http}"
if [[ "$room" == ui ]]; then
    scripts/ui-packages.sh
    exec npm --prefix ui test
fi
found=false
if [[ -f "src-tauri/$room/Cargo.toml" ]]; then
    found=true
    cargo test --locked --package "tillgate-$room"
fi
# The sandbox is a crate, and a folder of the gateway.
if [[ "$room" != gateway && -e "src-tauri/gateway/src/$room.rs" ]]; then
    found=true
    cargo test --locked --package tillgate-gateway --lib -- "$room::"
fi
[[ "$found" == true ]] ||
    fail "there is no room $room: name a folder of src-tauri or of src-tauri/gateway/src, or ui"
