#!/usr/bin/env bash
# Runs real clients against a debug build, over stdio and over HTTP with a token: the official TypeScript and Python
# SDKs and the MCP Inspector; the official TypeScript SDKs of the Agent Client Protocol; and, at `verger serve`, the OpenAI SDK
# and an MCP client.
#   scripts/clients.sh [BINARY]
# What is not installed and cannot be is skipped, and a line says so.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/npm.sh
VERGER="${1:-${CARGO_TARGET_DIR:-target}/debug/verger}"
[ -x "$VERGER" ] || cargo build --quiet
VERGER="$(realpath "$VERGER")"
make_vault
SERVER=""
PAGE=""
trap 'for server in $SERVER $PAGE; do kill "$server" 2>/dev/null; done; rm -rf "$FOLDER"' EXIT
serve --token-file "$FOLDER/token"
TOKEN="$(cat "$FOLDER/token")"

if npm_prepare; then
  cp scripts/clients/typescript.mjs "$MODULES/../typescript.mjs"
  for sdk in v1 v2 v2-2026; do
    "$NODE" "$MODULES/../typescript.mjs" "$sdk" stdio "$VERGER" "$FOLDER/vault"
    "$NODE" "$MODULES/../typescript.mjs" "$sdk" http "$URL" "$TOKEN"
  done
  inspector="$MODULES/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
  bash scripts/clients/inspector.sh "$NODE" "$inspector" stdio "$VERGER" "$FOLDER/vault"
  bash scripts/clients/inspector.sh "$NODE" "$inspector" http "$URL" "$TOKEN"
  cp scripts/clients/acp.mjs "$MODULES/../acp.mjs"
  for sdk in new old; do
    cp -r fixtures/vaults/tour "$FOLDER/acp-$sdk"
    # The old SDK complains on stderr about every kind of update that came after it.
    "$NODE" "$MODULES/../acp.mjs" "$sdk" "$VERGER" "$FOLDER/acp-$sdk" "$PWD/scripts/clients/acp.jsonl" 2>"$FOLDER/acp.log" \
      || { cat "$FOLDER/acp.log"; exit 1; }
  done
  serve_page --model "script@$PWD/scripts/clients/openai.jsonl"
  page_token() { "$VERGER" --vault "$FOLDER/vault" serve --new-token "$1" --may "$2" 2>/dev/null; }
  cp scripts/clients/openai.mjs "$MODULES/../openai.mjs"
  "$NODE" "$MODULES/../openai.mjs" "$BASE" "$(page_token sdk chat)"
  for sdk in v1 v2 v2-2026; do
    "$NODE" "$MODULES/../typescript.mjs" "$sdk" http "$BASE/mcp" "$(page_token "$sdk" edit)"
  done
else
  echo "the TypeScript clients and the Inspector were not run"
fi

python_prepare() {
  command -v python3 >/dev/null || { echo "skipped: python3 is not installed"; return 1; }
  PYTHON="${VERGER_CI_CACHE:-target/ci}/python/bin/python"
  [ "$(cat "${VERGER_CI_CACHE:-target/ci}/python/installed" 2>/dev/null)" = mcp-2.3.0 ] && return
  mkdir -p "${VERGER_CI_CACHE:-target/ci}"
  python3 -m venv "${VERGER_CI_CACHE:-target/ci}/python" >/dev/null 2>&1 \
    && "$PYTHON" -m pip install --quiet --disable-pip-version-check mcp==2.3.0 >/dev/null 2>&1 \
    && echo mcp-2.3.0 >"${VERGER_CI_CACHE:-target/ci}/python/installed" \
    || { echo "skipped: pip cannot install the Python SDK"; return 1; }
}
if python_prepare; then
  for mode in legacy 2026-07-28; do
    "$PYTHON" scripts/clients/python_client.py "$mode" stdio "$VERGER" "$FOLDER/vault"
    "$PYTHON" scripts/clients/python_client.py "$mode" http "$URL" "$TOKEN"
  done
else
  echo "the Python client was not run"
fi
