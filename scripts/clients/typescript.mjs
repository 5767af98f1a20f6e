// The official TypeScript SDKs as clients of `verger mcp`: list, read, write, search, err, delete with a question.
//   node typescript.mjs SDK stdio VERGER VAULT
//   node typescript.mjs SDK http URL TOKEN
// SDK is `v1` (@modelcontextprotocol/sdk), `v2` (@modelcontextprotocol/client) or `v2-2026` (the same without a handshake).
import assert from "node:assert/strict";

const [sdk, kind, where, more] = process.argv.slice(2);
const { Client, Stdio, Http, elicit, options } = sdk === "v1" ? await v1() : await v2();
const transport =
  kind === "stdio"
    ? new Stdio({ command: where, args: ["mcp", "--vault", more], env: process.env })
    : new Http(new URL(where), { requestInit: { headers: { authorization: `Bearer ${more}` } } });
const client = new Client({ name: "typescript", version: "1" }, { capabilities: { elicitation: {} }, ...options });
let questions = 0;
client.setRequestHandler(elicit, async () => {
  questions += 1;
  return { action: "accept", content: { confirm: true } };
});
await client.connect(transport);

async function v1() {
  const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
  const { StdioClientTransport: Stdio } = await import("@modelcontextprotocol/sdk/client/stdio.js");
  const { StreamableHTTPClientTransport: Http } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
  const { ElicitRequestSchema: elicit } = await import("@modelcontextprotocol/sdk/types.js");
  return { Client, Stdio, Http, elicit, options: {} };
}

async function v2() {
  const { Client, StreamableHTTPClientTransport: Http } = await import("@modelcontextprotocol/client");
  const { StdioClientTransport: Stdio } = await import("@modelcontextprotocol/client/stdio");
  const mode = sdk === "v2" ? "legacy" : { pin: "2026-07-28" };
  return { Client, Stdio, Http, elicit: "elicitation/create", options: { versionNegotiation: { mode } } };
}

const path = `clients/typescript-${sdk}-${kind}.md`;
const target = { type: "path", path };
const call = (name, input) => client.callTool({ name, arguments: input });

const { tools } = await client.listTools();
assert.ok(tools.some((tool) => tool.name === "obsidian_get_note"));
const written = await call("obsidian_write_note", { target, content: "# Typescript\nthe quince is ripe\n" });
assert.ok(!written.isError);
const read = await call("obsidian_get_note", { target, format: "content" });
assert.equal(read.structuredContent.result.content, "# Typescript\nthe quince is ripe\n");
const found = await call("obsidian_search_notes", { mode: "text", query: "quince is ripe" });
assert.ok(found.structuredContent.result.hits.some((hit) => hit.filename === path));
const missing = await call("obsidian_get_note", { target: { type: "path", path: "no/such.md" }, format: "content" });
assert.equal(missing.isError, true);
assert.equal(missing.structuredContent.error.data.reason, "note_missing");
await assert.rejects(call("no_such_tool", {}), /Unknown tool/);
const resource = await client.readResource({ uri: `obsidian://vault/${path}` });
assert.equal(JSON.parse(resource.contents[0].text).path, path);
const deleted = await call("obsidian_delete_note", { target });
assert.ok(!deleted.isError);
assert.equal(questions, 1);
await client.close();
console.log(`ok      TypeScript SDK ${sdk} over ${kind}: ${tools.length} tools, one question answered`);
