#!/usr/bin/env bash
# Installs the cargo tools that the checks need and that no Debian package has, built from source, once,
# into the cache. A tool that is on the PATH already is used as it is.
set -euo pipefail
# shellcheck source=scripts/env.sh
source "$(dirname "$0")/env.sh"

need_command cargo "install Rust 1.90 or newer"

install() {
    local tool="$1" version="$2"
    command -v "$tool" >/dev/null && return
    say "installing $tool $version"
    # A target folder of its own: the tools' dependencies never mix with the project's.
    CARGO_TARGET_DIR="$TILLGATE_CACHE/tools/target" \
        cargo install --locked --root "$TILLGATE_CACHE/tools" --version "$version" "$tool"
}

install cargo-deny '^0.20'
install cargo-machete '^0.9'
install tauri-driver '^2'
rm -rf "$TILLGATE_CACHE/tools/target"
