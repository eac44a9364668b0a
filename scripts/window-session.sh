#!/usr/bin/env bash
# Runs a command as in a desktop session of its own: a home, a display without a screen, a session bus
# and an unlocked keyring, all gone afterwards. The window tests start themselves through it.
#   [WINDOW_SCREEN=1920x1080] window-session.sh COMMAND [ARGUMENT...]
set -euo pipefail

export PATH="$PATH:${CARGO_HOME:-$HOME/.cargo}/bin"
for tool in Xvfb dbus-run-session gnome-keyring-daemon WebKitWebDriver tauri-driver; do
    command -v "$tool" >/dev/null || {
        echo "error: $tool is missing: run scripts/install-packages.sh test and scripts/install-tools.sh" >&2
        exit 1
    }
done

session="$(mktemp -d)"
display=""
leave() {
    [[ -z "$display" ]] || kill "$display" 2>/dev/null || true
    rm -rf "$session"
}
trap leave EXIT
mkdir -m 700 "$session/home" "$session/run"
export HOME="$session/home" XDG_RUNTIME_DIR="$session/run"
# Nothing of the caller's own session may show through.
unset DISPLAY WAYLAND_DISPLAY DBUS_SESSION_BUS_ADDRESS XDG_DATA_HOME XDG_CONFIG_HOME XDG_CACHE_HOME
unset "${!TILLGATE_@}"
export TILLGATE_WINDOW_SESSION=1

# The display tells its number once it takes programs: on a busy machine that may take a while. Two displays that start at
# once could take the same number, so they start one after the other.
mkfifo "$session/display"
exec 8>"${TMPDIR:-/tmp}/tillgate-displays.lock"
flock 8
Xvfb -displayfd 9 -screen 0 "${WINDOW_SCREEN:-1280x900}x24" -nolisten tcp 8>&- 9>"$session/display" 2>/dev/null &
display=$!
read -r number <"$session/display"
exec 8>&-
export DISPLAY=":$number"

# A keyring with an empty password would not be created.
# shellcheck disable=SC2016
dbus-run-session -- bash -c '
    set -euo pipefail
    printf "session\n" | gnome-keyring-daemon --unlock --components=secrets >/dev/null
    exec "$@"
' session "$@"
