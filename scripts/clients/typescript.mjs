// The official TypeScript SDK as a client of `verger mcp`: lists, reads, writes, searches, errs, deletes with a question.
//   node typescript.mjs stdio VERGER VAULT
//   node typescript.mjs http URL TOKEN
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const [kind, where, more] = process.argv.slice(2);
const transport =
  kind === "stdio"
    ? new StdioClientTransport({ command: where, args: ["mcp", "--vault", more], env: process.env })
    : new StreamableHTTPClientTransport(new URL(where), {
        requestInit: { headers: { authorization: `Bearer ${more}` } },
      });

const client = new Client({ name: "typescript", version: "1" }, { capabilities: { elicitation: {} } });
let questions = 0;
client.setRequestHandler(ElicitRequestSchema, async () => {
  questions += 1;
  return { action: "accept", content: { confirm: true } };
});
await client.connect(transport);

const path = `clients/typescript-${kind}.md`;
const target = { type: "path", path };
const call = (name, input) => client.callTool({ name, arguments: input });

const { tools } = await client.listTools();
assert.ok(tools.some((tool) => tool.name === "obsidian_get_note"));
const written = await call("obsidian_write_note", { target, content: "# Typescript\nthe quince is ripe\n" });
assert.equal(written.isError, false);
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
assert.equal(deleted.isError, false);
assert.equal(questions, 1);
await client.close();
console.log(`ok      TypeScript SDK over ${kind}: ${tools.length} tools, one question answered`);
