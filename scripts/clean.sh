#!/usr/bin/env bash
# Removes what the build made, in the checkout and in the cache. Merchants' data is elsewhere, and stays.
set -euo pipefail
# shellcheck source=scripts/env.sh
source "$(dirname "$0")/env.sh"

cd "$TILLGATE_ROOT"
cargo clean
rm -rf ui/dist ui/node_modules gen screens "$TILLGATE_CACHE/tools"
