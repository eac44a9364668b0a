#!/usr/bin/env bash
# Lets Bitcoin Core's consensus engine judge the sandbox's blocks and transactions, in random histories. Not part of
# `make test`: the engine takes minutes to build, and needs cmake and boost.
# TILLGATE_JUDGE_CASES says how many histories, and how many transactions; 20 of each where it is absent.
set -euo pipefail
# shellcheck source=scripts/env.sh
source "$(dirname "$0")/env.sh"

need_command cargo "install Rust 1.90 or newer"
need_command cmake "apt-get install cmake libboost-dev g++"
cd "$TILLGATE_ROOT"

cargo build --locked --manifest-path src-tauri/judge/Cargo.toml --target-dir "$CARGO_TARGET_DIR/judge"
export TILLGATE_JUDGE="$CARGO_TARGET_DIR/judge/debug/tillgate-judge"
exec cargo test --locked -p tillgate-sandbox --test it judged -- --nocapture
