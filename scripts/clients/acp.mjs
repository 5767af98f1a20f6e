// The official TypeScript SDKs as clients of `verger acp`: begin, read, change with a dialog, cancel, load.
//   node acp.mjs SDK VERGER VAULT SCRIPT
// SDK is `new` (@agentclientprotocol/sdk) or `old` (@zed-industries/agent-client-protocol, of the first editors).
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { Readable, Writable } from "node:stream";

const [sdk, verger, vault, script] = process.argv.slice(2);
const child = spawn(verger, ["acp", "--vault", vault, "--model", `script@${script}`], { stdio: ["pipe", "pipe", "inherit"] });
const [input, output] = [Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)];
const updates = [];
const dialogs = [];
const client = {
  sessionUpdate: async (params) => void updates.push(params.update),
  requestPermission: async (params) => {
    dialogs.push(params);
    return { outcome: { outcome: "selected", optionId: "allow_once" } };
  },
};
const say = (session, text) => ({ sessionId: session, prompt: [{ type: "text", text }] });
const kinds = () => new Set(updates.map((update) => update.sessionUpdate));

async function lead(agent) {
  const hello = await agent.initialize({ protocolVersion: 1, clientCapabilities: {} });
  assert.equal(hello.protocolVersion, 1);
  assert.equal(hello.agentCapabilities.loadSession, true);
  const { sessionId, modes } = await agent.newSession({ cwd: vault, mcpServers: [] });
  assert.ok(modes.availableModes.length > 0);
  const done = await agent.prompt(say(sessionId, "Put it into the inbox"));
  assert.equal(done.stopReason, "end_turn");
  assert.equal(dialogs.length, 1);
  assert.equal(dialogs[0].toolCall.content[0].type, "diff");
  assert.match(readFileSync(`${vault}/Inbox.md`, "utf8"), /- from the editor\n$/);
  for (const kind of ["agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update"]) {
    assert.ok(kinds().has(kind), kind);
  }
  const text = updates.filter((update) => update.sessionUpdate === "agent_message_chunk");
  assert.equal(text.map((update) => update.content.text).join(""), "It is in the inbox.");
  const slow = agent.prompt(say(sessionId, "And now talk"));
  const begun = () => updates.some((update) => update.content?.text === "wo");
  while (!begun()) await new Promise((go) => setTimeout(go, 20));
  await agent.cancel({ sessionId });
  assert.equal((await slow).stopReason, "cancelled");
  await agent.setSessionMode({ sessionId, modeId: modes.availableModes[0].id });
  const refused = await agent.prompt(say("nobody", "hello")).catch((error) => error);
  assert.match(refused.message, /there is no conversation/);
  updates.length = 0;
  await agent.loadSession({ sessionId, cwd: vault, mcpServers: [] });
  assert.ok(kinds().has("user_message_chunk"));
  return updates.length;
}

async function old() {
  const acp = await import("@zed-industries/agent-client-protocol");
  return lead(new acp.ClientSideConnection(() => client, acp.ndJsonStream(input, output)));
}

async function newer() {
  const { client: app, methods, ndJsonStream } = await import("@agentclientprotocol/sdk");
  const { session } = methods.agent;
  return app({ name: "verger-clients" })
    .onRequest(methods.client.session.requestPermission, ({ params }) => client.requestPermission(params))
    .onNotification(methods.client.session.update, ({ params }) => client.sessionUpdate(params))
    .connectWith(ndJsonStream(input, output), (to) =>
      lead({
        initialize: (params) => to.request(methods.agent.initialize, params),
        newSession: (params) => to.request(session.new, params),
        loadSession: (params) => to.request(session.load, params),
        prompt: (params) => to.request(session.prompt, params),
        setSessionMode: (params) => to.request(session.setMode, params),
        cancel: (params) => to.notify(session.cancel, params),
      }),
    );
}

const shown = sdk === "old" ? await old() : await newer();
child.stdin.end();
const code = await new Promise((ended) => child.on("exit", ended));
assert.equal(code, 0);
console.log(`ok      ACP TypeScript SDK ${sdk}: one dialog answered, one turn stopped, ${shown} updates shown again`);
