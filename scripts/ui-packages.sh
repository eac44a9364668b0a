#!/usr/bin/env bash
# Installs the panel's npm packages as the lock file names them, when it changed since the last time.
set -euo pipefail
# shellcheck source=scripts/env.sh
source "$(dirname "$0")/env.sh"

need_command npm "install Node.js 20 or newer"
cd "$TILLGATE_ROOT/ui"
installed=node_modules/.installed-lock.json
if ! cmp -s package-lock.json "$installed"; then
    npm ci --no-fund --no-audit
    cp package-lock.json "$installed"
fi
