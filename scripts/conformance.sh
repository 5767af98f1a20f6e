#!/usr/bin/env bash
# Runs the public MCP conformance suites against a debug build. Fails on any scored scenario that fails.
#   scripts/conformance.sh [BINARY]
# Needs npm; without it nothing is run and a line says so. docs/conformance.md holds the figures.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/npm.sh
npm_prepare || { echo "the conformance suites were not run"; exit 0; }
VERGER="${1:-${CARGO_TARGET_DIR:-target}/debug/verger}"
[ -x "$VERGER" ] || cargo build --quiet
make_vault
SERVER=""
trap '[ -z "$SERVER" ] || kill "$SERVER" 2>/dev/null; rm -rf "$FOLDER"' EXIT
latest=("$NODE" "$MODULES/conformance-latest/dist/index.js")
newest=("$NODE" "$MODULES/@modelcontextprotocol/conformance/dist/index.js")
failed=0

# report NAME WANTED COMMAND…: the suite must end well, and WANTED scenarios must have been judged.
report() {
  local name="$1" wanted="$2" log="$FOLDER/suite.log"
  shift 2
  local ended=0
  "$@" >"$log" 2>&1 || ended=$?
  local scored passed
  # What comes after `Not scored` is run and does not count.
  scored="$(sed -n '/^=== .*SUMMARY ===$/,/^Total:/p' "$log")"
  for scenario in $(sed -n '/^Not scored/,$p' "$log" | sed -n 's/^  [✓✗] \([^ ]*\) .*/\1/p'); do
    scored="$(grep -v "^[✓✗] $scenario:" <<<"$scored" || true)"
  done
  # A scenario that judged nothing has passed nothing.
  passed="$(grep -c '^✓ .*: [1-9][0-9]* passed, 0 failed' <<<"$scored" || true)"
  if [ "$ended" = 0 ] && [ "$passed" = "$wanted" ] && ! grep -q '^✗' <<<"$scored"; then
    echo "ok      $name: $passed of $wanted scenarios"
  else
    echo "FAILED  $name: $passed of $wanted scenarios, exit $ended"
    grep '^✗' <<<"$scored" || tail -n 20 "$log"
    failed=1
  fi
}

# one NAME COMMAND…: a single scenario must end well and must have judged something.
one() {
  local name="$1" log="$FOLDER/scenario.log"
  shift
  if "$@" >"$log" 2>&1 && grep -q '^Passed: [1-9]' "$log"; then
    echo "ok      $name: $(grep '^Passed:' "$log" | tail -n 1)"
  else
    echo "FAILED  $name"
    tail -n 20 "$log"
    failed=1
  fi
}

echo "server with the suites' fixtures"
serve --no-auth --conformance-fixtures
report "0.1.16 --suite all" 32 "${latest[@]}" server --url "$URL" --suite all
report "0.2.0-alpha.12 --requirements 2025-11-25" 30 "${newest[@]}" server --url "$URL" --requirements 2025-11-25
report "0.2.0-alpha.12 --requirements 2026-07-28" 37 "${newest[@]}" server --url "$URL" --requirements 2026-07-28
kill "$SERVER" && wait "$SERVER" || { echo "FAILED  the server did not end well"; failed=1; }

echo "server as people run it"
serve --no-auth
for scenario in server-initialize ping logging-set-level tools-list resources-list prompts-list \
  dns-rebinding-protection server-sse-multiple-streams server-session-lifecycle; do
  one "2025-11-25 $scenario" "${newest[@]}" server --url "$URL" --spec-version 2025-11-25 --scenario "$scenario"
done
for scenario in tools-list resources-list prompts-list dns-rebinding-protection server-sse-multiple-streams caching \
  http-header-validation; do
  one "2026-07-28 $scenario" "${newest[@]}" server --url "$URL" --spec-version 2026-07-28 --scenario "$scenario"
done
kill "$SERVER" && wait "$SERVER" || { echo "FAILED  the server did not end well"; failed=1; }
SERVER=""

client="$VERGER dev conformance-client"
if $client --help >/dev/null 2>&1; then
  echo "client"
  report "0.1.16 client --suite all" 26 "${latest[@]}" client --command "$client" --suite all
  report "client --requirements 2025-11-25" 18 "${newest[@]}" client --command "$client" --requirements 2025-11-25
  report "client --requirements 2026-07-28" 32 "${newest[@]}" client --command "$client" --requirements 2026-07-28
else
  echo "client suites skipped: this build has no \`verger dev conformance-client\`"
fi
exit "$failed"
