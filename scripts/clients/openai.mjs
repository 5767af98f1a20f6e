// The official OpenAI SDK as a client of `verger serve`: models, an answer, a stream, a stop, errors.
//   node openai.mjs BASE TOKEN
import assert from "node:assert/strict";
import OpenAI from "openai";

const [base, token] = process.argv.slice(2);
const client = new OpenAI({ baseURL: `${base}/v1`, apiKey: token, maxRetries: 0 });
const said = (text) => [{ role: "user", content: text }];

const models = [];
for await (const model of client.models.list()) models.push(model.id);
assert.equal(models[0], "verger");
assert.ok(models.includes("verger/reader"), models.join(" "));

const whole = await client.chat.completions.create({ model: "verger", messages: said("quick") });
assert.equal(whole.choices[0].message.content, "I look.\n\nThe garden is in bloom.");
assert.equal(whole.choices[0].finish_reason, "stop");
assert.ok(whole.usage.total_tokens > 0);

const stream = await client.chat.completions.create({
  model: "verger/reader", messages: said("quick"), stream: true, stream_options: { include_usage: true },
});
let [text, finish, usage] = ["", null, null];
for await (const chunk of stream) {
  text += chunk.choices[0]?.delta?.content ?? "";
  finish ??= chunk.choices[0]?.finish_reason ?? null;
  usage ??= chunk.usage ?? null;
}
assert.equal(text, "I look.\n\nThe garden is in bloom.");
assert.equal(finish, "stop");
assert.ok(usage.total_tokens > 0);

// The SDK's own way of gathering a stream knows every field of it.
const gathered = await client.chat.completions.stream({ model: "verger", messages: said("quick") }).finalChatCompletion();
assert.equal(gathered.choices[0].message.content, text);

const slow = await client.chat.completions.create({ model: "verger", messages: said("slow"), stream: true });
let pieces = 0;
for await (const _ of slow) if (++pieces === 3) break;
assert.equal(pieces, 3);

const refused = (kind, asked) => assert.rejects(asked, (error) => error instanceof kind && error.message.length > 10);
await refused(OpenAI.NotFoundError, client.chat.completions.create({ model: "gpt-4o", messages: said("x") }));
const tools = [{ type: "function", function: { name: "f", parameters: {} } }];
await refused(OpenAI.BadRequestError, client.chat.completions.create({ model: "verger", messages: said("x"), tools }));
const stranger = new OpenAI({ baseURL: `${base}/v1`, apiKey: "wrong", maxRetries: 0 });
await refused(OpenAI.AuthenticationError, stranger.models.list());
console.log("ok      openai over /v1");
