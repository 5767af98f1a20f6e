#!/usr/bin/env bash
# Tests the page of `verger serve` in a real browser (Debian's chromium) and writes screenshots of every view to target/screens/.
#   scripts/browser.sh [BINARY] [FILE…]     only these files of scripts/browser, all of them otherwise
# Where chromium or npm is missing nothing is run, and a line says so.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/npm.sh
CHROMIUM="${VERGER_CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)}"
[ -n "$CHROMIUM" ] || { echo "skipped: no chromium is installed; the browser tests were not run"; exit 0; }
npm_prepare || { echo "the browser tests were not run"; exit 0; }
VERGER="${1:-${CARGO_TARGET_DIR:-target}/debug/verger}"
shift || true
[ -x "$VERGER" ] || cargo build --quiet
TESTS="$MODULES/../browser"
rm -rf "$TESTS" && cp -r scripts/browser "$TESTS"
mkdir -p target/screens
files=("$@")
[ ${#files[@]} -gt 0 ] || files=($(cd scripts/browser && ls *.test.mjs))
export VERGER="$(realpath "$VERGER")" CHROMIUM TOUR="$PWD/fixtures/vaults/tour" SCREENS="$PWD/target/screens" ROOT="$PWD"
# One after the other: two cores, and a browser wants one of them.
"$NODE" --test --test-concurrency=1 --test-reporter=spec "${files[@]/#/$TESTS/}"
