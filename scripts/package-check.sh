#!/usr/bin/env bash
# Installs the Debian package on a clean Debian, takes a first payment with it, opens its window, and removes it again
# without touching the merchant's data. Not part of `make test`: it needs root, debootstrap, the archive that this machine's
# apt uses, 2 GB of disk and some minutes.
#   package-check.sh PACKAGE.deb
set -euo pipefail
# shellcheck source=scripts/env.sh
source "$(dirname "$0")/env.sh"

[[ $# -eq 1 && -f "$1" ]] || fail "usage: package-check.sh PACKAGE.deb"
[[ $EUID -eq 0 ]] || fail "a clean Debian is made and entered as root"
need_command debootstrap "apt-get install debootstrap"
package="$(realpath "$1")"
# shellcheck source=/dev/null
suite="$(. /etc/os-release && echo "$VERSION_CODENAME")"
archive="$(apt-get indextargets --format '$(SITE)' "Codename: $suite" | head -n 1)"
[[ -n "$archive" ]] || fail "apt knows no archive of $suite"

root="$(mktemp -d /tmp/tillgate-package.XXXXXX)"
chmod 755 "$root"
started=()
leave() {
    for process in "${started[@]}"; do kill "$process" 2>/dev/null || true; done
    for mounted in proc dev; do umount --lazy "$root/$mounted" 2>/dev/null || true; done
    rm -rf --one-file-system "$root"
}
trap leave EXIT

# Each becomes what it starts, so that a process in the background is known by its number.
as_root=(chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 HOME=/root DEBIAN_FRONTEND=noninteractive)
as_merchant=(chroot "$root" /usr/bin/env -i PATH=/usr/bin:/bin LANG=C.UTF-8 HOME=/home/merchant XDG_RUNTIME_DIR=/run/merchant
    setpriv --reuid 1000 --regid 1000 --clear-groups)
inside() { "${as_root[@]}" "$@"; }
merchant() { "${as_merchant[@]}" "$@"; }
# Waits for this to be so.
until_so() {
    for _ in $(seq 600); do
        if "$@"; then return 0; fi
        sleep 0.1
    done
    return 1
}
# A value of a JSON document, by its name.
value() { sed -n "s/.*\"$1\":\"\\([^\"]*\\)\".*/\\1/p" | head -n 1; }
call() { curl -sS --fail-with-body -u "$key" -H 'Content-Type: application/json' "$@"; }

say "what the package says of itself"
for field in Package Version Maintainer Section Depends Description; do
    content="$(dpkg-deb -f "$package" "$field")"
    [[ -n "$content" && "$content" != *example* ]] || fail "the field $field is '$content'"
    echo "$field: $content" | head -n 1
done

say "a clean Debian $suite from $archive"
debootstrap --variant=minbase "$suite" "$root" "$archive" >"$root.log" 2>&1 || { tail "$root.log"; fail "debootstrap failed"; }
rm -f "$root.log"
cp /etc/resolv.conf "$root/etc/"
# Two lists of the same archive would be complained of.
rm -f "$root/etc/apt/sources.list"
cp -r /etc/apt/sources.list* /etc/apt/apt.conf.d /etc/apt/trusted.gpg* "$root/etc/apt/" 2>/dev/null || true
mount -t proc proc "$root/proc"
mount --bind /dev "$root/dev"
cp "$package" "$root/tillgate.deb"
inside apt-get update -q >/dev/null

say "installing"
inside apt-get install -y -q --no-install-recommends /tillgate.deb >/dev/null
for program in tillgate tillgate-desktop; do
    if inside ldd "/usr/bin/$program" | grep 'not found'; then fail "$program lacks libraries"; fi
done
if inside ldd /usr/bin/tillgate | grep -E 'webkit|gtk'; then fail "tillgate links a window"; fi
for size in 16x16 24x24 32x32 48x48 64x64 128x128 256x256 512x512; do
    [[ -s "$root/usr/share/icons/hicolor/$size/apps/tillgate-desktop.png" ]] || fail "there is no icon of $size"
done
entry="$root/usr/share/applications/Tillgate.desktop"
grep -q '^Exec=tillgate-desktop' "$entry" && grep -q '^Categories=.*Finance' "$entry" || fail "the desktop's entry is wrong"
[[ -s "$root/usr/share/doc/tillgate/copyright" ]] || fail "there is no licence"
[[ -s "$root/usr/share/doc/tillgate/reference/commands.md" ]] || fail "there is no reference"
[[ -s "$root/usr/share/doc/tillgate/merchant/README.md" ]] || fail "there are no pages for the merchant"
[[ -s "$root/usr/lib/systemd/user/tillgate.service" ]] || fail "there is no unit"
[[ -z "$(find "$root/etc/systemd" -name 'tillgate*' 2>/dev/null)" ]] || fail "the unit was enabled"
if command -v systemd-analyze >/dev/null; then
    XDG_RUNTIME_DIR="$root/run" systemd-analyze --user verify "$root/usr/lib/systemd/user/tillgate.service" || true
fi

say "the first payment"
inside groupadd -g 1000 merchant
inside useradd -m -u 1000 -g 1000 merchant
install -d -m 700 -o 1000 -g 1000 "$root/run/merchant"
"${as_merchant[@]}" tillgate serve --listen 127.0.0.1:0 >"$root/ready" 2>"$root/log" &
serving=$!
started+=("$serving")
until_so test -s "$root/ready" || true
api="$(value api <"$root/ready")"
[[ -n "$api" ]] || { cat "$root/log"; fail "the gateway did not become ready"; }
key="shop:$(merchant tillgate keys create shop --notification-url-optional --json | value secret)"
payment="$(call "$api/payments/new" -d '{"amount":"10.00","currency":"USD","message":"Two coffees","merchantTransactionId":"1"}' | value paymentId)"
call "${api%/v2}/sandbox/payments/$payment/pay" -d '{}' >/dev/null
call "${api%/v2}/sandbox/blocks" -d '{}' >/dev/null
state="$(call "$api/payments/$payment" | value status)"
[[ "$state" == CONFIRMED ]] || fail "the payment is $state"
echo "payment $payment is $state"
merchant tillgate doctor || true
kill -TERM "$serving"
wait "$serving" || fail "the gateway did not stop cleanly"

say "the window"
inside apt-get install -y -q --no-install-recommends xvfb dbus >/dev/null
"${as_root[@]}" Xvfb :77 -screen 0 1280x800x24 -nolisten tcp >/dev/null 2>&1 &
started+=("$!")
until_so test -S "$root/tmp/.X11-unix/X77" || fail "there is no display"
"${as_merchant[@]}" dbus-daemon --session --nofork --address=unix:path=/run/merchant/bus >/dev/null 2>&1 &
started+=("$!")
until_so test -S "$root/run/merchant/bus" || fail "there is no session bus"
"${as_merchant[@]}" env DISPLAY=:77 DBUS_SESSION_BUS_ADDRESS=unix:path=/run/merchant/bus tillgate-desktop --listen 127.0.0.1:0 \
    >"$root/ready" 2>"$root/log" &
window=$!
started+=("$window")
until_so grep -q '\[test\].* ready' "$root/log" || { cat "$root/log"; fail "the window's gateway did not become ready"; }
state="$(merchant tillgate payments show "$payment" --environment test --json | value state)"
[[ "$state" == CONFIRMED ]] || fail "the window's gateway has another payment: $state"
kill -TERM "$window"
wait "$window" || fail "the window did not end cleanly"

say "removing"
before="$(find "$root/home/merchant/.local/share/tillgate" -type f | sort)"
inside apt-get purge -y -q tillgate >/dev/null
[[ ! -e "$root/usr/bin/tillgate" && ! -e "$root/usr/bin/tillgate-desktop" && ! -e "$entry" ]] || fail "programs are left"
[[ -n "$before" && "$before" == "$(find "$root/home/merchant/.local/share/tillgate" -type f | sort)" ]] || fail "the merchant's data was touched"
say "the package is as it should be"
