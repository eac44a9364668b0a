#!/usr/bin/env bash
# Builds the Debian package: both programs, the desktop's entry and icons, the unit of systemd. A release build, which
# takes about ten minutes on two cores; `package.sh --debug` packs a debug build, to look at the package itself.
set -euo pipefail
# shellcheck source=scripts/env.sh
source "$(dirname "$0")/env.sh"

need_command cargo "install Rust 1.90 or newer"
need_command npm "install Node.js 20 or newer"
cd "$TILLGATE_ROOT"
scripts/install-packages.sh desktop
scripts/ui-packages.sh

built=release
for argument in "$@"; do
    if [[ "$argument" == --debug ]]; then built=debug; fi
done
# The tool builds the panel, then all programs of the root package, and packs what it built.
npx --prefix ui tauri build --bundles deb "$@" -- --locked
folder="$CARGO_TARGET_DIR/$built/bundle/deb"
package="$(ls -t "$folder"/*.deb | head -n 1)"
say "made $package"
printf '%s\n' "$package"
