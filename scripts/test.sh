#!/usr/bin/env bash
# Everything that has to hold before a change lands, phase by phase, each with its time. The cargo tests
# come last, so that their closing lines close the run.
#   test.sh          all phases
#   test.sh lint     the phases that run no test
set -euo pipefail
# shellcheck source=scripts/env.sh
source "$(dirname "$0")/env.sh"
cd "$TILLGATE_ROOT"

times=()
phase() {
    local name="$1" began=$SECONDS
    shift
    say "$name"
    "$@"
    times+=("$(printf '%5d s  %s' $((SECONDS - began)) "$name")")
}

# Each of the two uses one core.
ui_lint() {
    npm --prefix ui run check &
    local check=$!
    npm --prefix ui run lint || { kill "$check"; return 1; }
    wait "$check"
}

ui_test() {
    npm --prefix ui test
}

ui_build() {
    npm --prefix ui run build
}

# The generated files (the panel's types) are made by tests; a difference means somebody forgot to commit.
nothing_generated_differs() {
    local changed
    changed="$(git status --porcelain 2>/dev/null || true)"
    [[ "$changed" == "$generated_before" ]] || fail "the tests wrote files that differ from the committed ones:
$changed"
}

generated_before="$(git status --porcelain 2>/dev/null || true)"

phase "Debian packages" scripts/install-packages.sh test
phase "cargo tools" scripts/install-tools.sh
phase "npm packages" scripts/ui-packages.sh
phase "crates" cargo fetch --locked
phase "format" cargo fmt --all --check
phase "panel: lint and types" ui_lint
phase "panel: build" ui_build
phase "licences, bans, sources" cargo deny --offline --log-level error check licenses bans sources
phase "unused dependencies" cargo machete
phase "clippy" cargo clippy --locked --workspace --all-targets --features "$DESKTOP_FEATURES" -- -D warnings
if [[ "${1:-all}" != lint ]]; then
    # Many tests wait for the disk or for a started program, so twice as many threads as cores keep the cores busy.
    export RUST_TEST_THREADS="${RUST_TEST_THREADS:-$((2 * $(nproc)))}"
    phase "panel: tests" ui_test
    phase "build" cargo test --locked --workspace --features "$DESKTOP_FEATURES" --no-run
    phase "tests" cargo test --locked --workspace --features "$DESKTOP_FEATURES"
    phase "generated files" nothing_generated_differs
fi

say "all phases passed in $SECONDS s"
printf '%s\n' "${times[@]}" >&2
