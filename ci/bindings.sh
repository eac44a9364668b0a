#!/bin/sh
# The panel's TypeScript types are made from the gateway's Rust types. Without an argument: fails
# when the committed ones differ. With --write: writes them anew.
set -eu
cd "$(dirname "$0")/.."
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
TS_RS_EXPORT_DIR="$made" cargo test --quiet -p tillgate-gateway --lib export_bindings >/dev/null
if [ "${1:-}" = --write ]; then
    rm -rf ui/src/lib/bindings
    mkdir -p ui/src/lib/bindings
    cp "$made"/*.ts ui/src/lib/bindings/
elif ! diff -r "$made" ui/src/lib/bindings; then
    echo "ui/src/lib/bindings differs from the Rust types: run ci/bindings.sh --write and commit it" >&2
    exit 1
fi
