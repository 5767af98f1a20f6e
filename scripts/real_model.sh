#!/bin/sh
# A conversation with a real model, on this machine only: the OpenAI wire format over a real socket, real tool calls.
# Not part of the tests: a small model answers slowly and not always well. Its transcript is in docs/real-model.md.
#
#   scripts/real_model.sh URL MODEL      a server that runs already, e.g. http://127.0.0.1:18136/v1 and any name
#
# How to get such a server: any of llama.cpp, Ollama, LM Studio, vLLM. The model should be able to call tools.
set -eu
url=${1:?the address of a server that speaks the OpenAI format, e.g. http://127.0.0.1:18136/v1}
model=${2:?the model\'s name there}
here=$(cd "$(dirname "$0")/.." && pwd)
verger=${VERGER_BIN:-$here/target/debug/verger}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$here/fixtures/vaults/tour" "$work/vault"
mkdir -p "$work/config/agents"
export VERGER_CONFIG_DIR="$work/config" VERGER_DATA_DIR="$work/data"
cat > "$work/config/config.toml" <<TOML
[models]
main = "here@$model"
[providers.here]
dialect = "openai"
url = "$url"
window = 8192
TOML
# A small agent: a small model reads a long list of tools slowly and badly.
cat > "$work/config/agents/small.md" <<'MD'
---
name: Small
groups: [read, edit]
tools: [read_file, search_files, append_to_file]
role: You look after a small vault of notes.
when_to_use: trying out a small model
---
Call a tool only when the question needs it. Answer in one or two sentences.
MD
run() {
    printf '\n$ verger ask %s\n' "$*"
    "$verger" --vault "$work/vault" ask --agent small --rounds 6 "$@" < /dev/null 2>&1 || printf '(exit code %s)\n' "$?"
}
"$verger" models || true
run "What does the note Slugs.md say? Read it."
run "Which notes mention quince? Search for it."
run --yes "Append the line '- water the quince' to the note Start.md."
printf '\n$ verger history --limit 3\n'
"$verger" --vault "$work/vault" history --limit 3
printf '\n$ tail -n 2 Start.md\n'
tail -n 2 "$work/vault/Start.md"
printf '\n$ verger undo --yes; tail -n 1 Start.md\n'
"$verger" --vault "$work/vault" undo --yes || true
tail -n 1 "$work/vault/Start.md"
