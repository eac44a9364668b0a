#!/usr/bin/env bash
# Measures the release build with the limits of this machine beside each figure, and writes docs/benchmarks.md.
# With arguments (ARGS="--only spine") only what they say is measured, and nothing is written.
set -euo pipefail
# shellcheck source=scripts/env.sh
source "$(dirname "$0")/env.sh"

need_command cargo "install Rust 1.90 or newer"
cd "$TILLGATE_ROOT"

cargo build --locked --release -p tillgate-bench -p tillgate-desktop --bin tillgate --bin tillgate-bench
if [[ $# -eq 0 ]]; then
    set -- --page docs/benchmarks.md
fi
exec "$CARGO_TARGET_DIR/release/tillgate-bench" "$@"
