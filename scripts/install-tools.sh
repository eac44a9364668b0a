#!/usr/bin/env bash
# Installs the tools that the checks need and that no Debian package has, once, into the cache: cargo's are
# built from source, Python's have an environment of their own. A tool that is on the PATH already is used as it is.
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

python="$TILLGATE_CACHE/tools/python"
wanted=tests/openapi/requirements.txt
cd "$TILLGATE_ROOT"
if ! cmp -s "$wanted" "$python/installed.txt"; then
    say "installing schemathesis"
    rm -rf "$python"
    python3 -m venv "$python"
    "$python/bin/pip" install --quiet --no-deps --requirement "$wanted"
    mkdir -p "$TILLGATE_CACHE/tools/bin"
    ln -sf ../python/bin/schemathesis "$TILLGATE_CACHE/tools/bin/schemathesis"
    cp "$wanted" "$python/installed.txt"
fi
