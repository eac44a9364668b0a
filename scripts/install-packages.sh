#!/usr/bin/env bash
# Installs the Debian packages that are missing for what is asked:
#   headless   a C and C++ compiler (the script interpreter and SQLite are compiled)
#   desktop    headless, and what the window is built on
#   test       desktop, and what the tests drive
# On another system it says what to install, and goes on: a build that lacks something says so itself.
set -euo pipefail
# shellcheck source=scripts/env.sh
source "$(dirname "$0")/env.sh"

headless=(build-essential pkg-config)
desktop=(libwebkit2gtk-4.1-dev libayatana-appindicator3-dev)
tests=(curl xvfb xauth webkit2gtk-driver dbus dbus-x11 gnome-keyring fonts-dejavu-core strace faketime python3-venv)

case "${1:-}" in
    headless) wanted=("${headless[@]}") ;;
    desktop) wanted=("${headless[@]}" "${desktop[@]}") ;;
    test) wanted=("${headless[@]}" "${desktop[@]}" "${tests[@]}") ;;
    *) fail "usage: install-packages.sh headless|desktop|test" ;;
esac

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    say "this is not Debian: see to it that what these Debian packages hold is installed: ${wanted[*]}"
    exit 0
fi

missing=()
for package in "${wanted[@]}"; do
    status="$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)"
    [[ "$status" == installed ]] || missing+=("$package")
done
[[ ${#missing[@]} -gt 0 ]] || exit 0

as_root=()
if [[ $EUID -ne 0 ]]; then
    command -v sudo >/dev/null || fail "as root, run: apt-get install ${missing[*]}"
    as_root=(sudo)
fi
say "installing Debian packages: ${missing[*]}"
"${as_root[@]}" apt-get update -q
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"
