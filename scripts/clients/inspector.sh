#!/usr/bin/env bash
# The MCP Inspector's command line as a client of `verger mcp`: lists, writes, reads, searches, errs. It cannot ask its user.
#   inspector.sh NODE INSPECTOR stdio VERGER VAULT
#   inspector.sh NODE INSPECTOR http URL TOKEN
set -euo pipefail
node="$1" inspector="$2" kind="$3" where="$4" more="$5"
if [ "$kind" = stdio ]; then
  door=("$where" mcp --vault "$more")
else
  door=("$where" --transport http --header "Authorization: Bearer $more")
fi
ask() { "$node" "$inspector" --cli "${door[@]}" "$@" 2>&1; }
call() {
  local tool="$1"
  shift
  local arguments=()
  for argument in "$@"; do arguments+=(--tool-arg "$argument"); done
  ask --method tools/call --tool-name "$tool" "${arguments[@]}"
}
# want WORD WHAT TEXT: the text must hold the word.
want() { grep -q -- "$1" <<<"$3" || { echo "FAILED  Inspector over $kind: $2"; echo "$3" | tail -n 20; exit 1; }; }

target="{\"type\":\"path\",\"path\":\"clients/inspector-$kind.md\"}"
want obsidian_get_note "lists the tools" "$(ask --method tools/list)"
want obsidian://tags "lists the resources" "$(ask --method resources/list)"
want '"created": true' "writes" "$(call obsidian_write_note "target=$target" "content=the service tree is ripe")"
want 'service tree is ripe' "reads" "$(call obsidian_get_note "target=$target" format=content)"
want "clients/inspector-$kind.md" "searches" "$(call obsidian_search_notes mode=text "query=service tree is ripe")"
want note_missing "errs" "$(call obsidian_get_note 'target={"type":"path","path":"no/such.md"}' format=content || true)"
echo "ok      Inspector over $kind"
