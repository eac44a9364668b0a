# shellcheck shell=bash
# Sourced by the other scripts: one place says where builds and tools are kept. Caches live outside the
# checkout, so that a fresh clone on the same machine starts warm and `git clean` costs nothing.

TILLGATE_ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
TILLGATE_CACHE="${TILLGATE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tillgate}"
export TILLGATE_ROOT TILLGATE_CACHE
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$TILLGATE_CACHE/target}"
export PATH="$TILLGATE_CACHE/tools/bin:$PATH"

# The one set of features that lint, tests and the desktop program share: with two sets, cargo would
# compile most of the tree twice.
DESKTOP_FEATURES="desktop,custom-protocol"
export DESKTOP_FEATURES

say() { printf '\n== %s\n' "$*" >&2; }

fail() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

need_command() {
    command -v "$1" >/dev/null || fail "$1 is missing: $2"
}
