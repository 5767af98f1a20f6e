// Text of others, shown: as notes, as titles, as properties, as the answer of a model and of a tool. No script of theirs runs, nothing leaves the page.
import { after, before, test } from 'node:test';
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Server, closeBrowser, go, until, visit } from './rig.mjs';

const rows = (file) => readFileSync(file, 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line));
const own = ['markup.jsonl', 'rows.jsonl'].flatMap((name) => rows(join(process.env.ROOT, 'fixtures/injections', name)));
const shared = join(process.env.ROOT, '../shared/corpora/injections.jsonl');
// A file with a NUL is no text, and is not shown as a note.
const texts = [...own, ...(existsSync(shared) ? rows(shared) : [])].flatMap((row) => [row.text, row.note]).filter(Boolean).map((text) => text.replaceAll('\0', ''));
if (!existsSync(shared)) console.log('the shared corpus is not here; own cases only');

const PER_NOTE = 8;
const files = {};
for (let at = 0; at < texts.length; at += PER_NOTE) {
  files[`Hostile/${String(at / PER_NOTE).padStart(3, '0')}.md`] = texts.slice(at, at + PER_NOTE).map((text) => `${text}\n\n`).join('\n');
}
files['Hostile/<img src=x onerror=alert(1)>.md'] = '---\ntitle: "<img src=x onerror=alert(2)>"\ntags: ["<svg onload=alert(3)>"]\n"<b onclick=alert(4)>": x\n---\n# <img src=x onerror=alert(5)>\n\n[[<img src=x onerror=alert(6)>]] #x<svg/onload=alert(7)>\n';
files['Hostile/links.md'] = '[[<img src=x onerror=alert(1)>|<b>x</b>]] and [[000]]\n';

const PER_ANSWER = 10;
const turns = [];
for (let at = 0; at < texts.length; at += PER_ANSWER) turns.push({ thinking: texts[at], text: texts.slice(at, at + PER_ANSWER).join('\n\n'), chunk: 4000 });
const first = { calls: [{ name: 'read_file', input: { path: 'Hostile/000.md' } }, { name: 'search_files', input: { path: '', pattern: '<img src=x onerror=alert(1)>' } }] };

let server;
before(async () => { server = await Server.start({ files, turns: [first, ...turns] }); });
after(async () => { await closeBrowser(); await server.end(); });

/** What must not be anywhere in what is shown. */
const judge = (page) => page.evaluate(() => {
  const bad = [];
  for (const element of document.querySelectorAll('main *, dialog *')) {
    for (const { name, value } of element.attributes) {
      if (/^on/i.test(name)) bad.push(`${element.tagName} ${name}`);
      if (/^(href|src|srcset|action|formaction|data|poster|ping|xlink:href)$/i.test(name) && /^\s*(javascript|vbscript|data:text|file):/i.test(value)) bad.push(`${element.tagName} ${name}=${value.slice(0, 60)}`);
      if (/^(src|srcset|poster|background)$/i.test(name) && !/^(\/|blob:|data:image\/(png|jpeg|gif|webp))/.test(value)) bad.push(`${element.tagName} ${name}=${value.slice(0, 60)}`);
      if (name === 'style' && element.closest('.markdown')) bad.push(`${element.tagName} style`);
    }
    if (element.getAttribute('role') !== 'search' && /^(SCRIPT|IFRAME|OBJECT|EMBED|FORM|BASE|META|LINK|STYLE|TEMPLATE)$/.test(element.tagName)) bad.push(element.tagName);
  }
  return bad;
});

test('hostile notes are read and nothing of theirs runs', async () => {
  const page = await visit(server, { expectPolicy: true });
  for (const path of Object.keys(files)) {
    await go(page, `#/notes/${encodeURIComponent(path).replaceAll('%2F', '/')}`);
    await page.locator('article').first().waitFor({ timeout: 10_000 }).catch(() => assert.fail(`${path} is not shown`));
    assert.deepEqual(await judge(page), [], path);
  }
  assert.deepEqual(page.outside, []);
  assert.deepEqual(page.troubles.filter((said) => !said.startsWith('policy')), []);
  assert.deepEqual(page.troubles, [], 'the cleaning left nothing for the policy to stop');
  await page.context().close();
});

test('hostile answers of a model and of tools are shown and nothing of theirs runs', async () => {
  const page = await visit(server, { hash: '#/chat', expectPolicy: true });
  const box = page.getByRole('textbox', { name: /message/i });
  for (let turn = 0; turn < turns.length; turn += 1) {
    await box.fill(texts[turn * PER_ANSWER].slice(0, 2000).replace(/^\//, ' /'));
    await box.press('Enter');
    await until(`answer ${turn}`, async () => (await page.locator('[data-kind="over"]').count()) > turn, 20_000);
  }
  for (const fold of await page.locator('main details').all()) await fold.evaluate((element) => { element.open = true; });
  assert.deepEqual(await judge(page), []);
  assert.deepEqual(page.outside, []);
  assert.deepEqual(page.troubles, []);
  await page.context().close();
});

test('hostile names and texts are found and nothing of theirs runs', async () => {
  const page = await visit(server, { hash: '#/find', expectPolicy: true });
  for (const mode of ['ranked', 'exact']) {
    for (const text of ['onerror', 'collect.example', '<img src=x onerror=alert(1)>']) {
      await go(page, `#/find?mode=${mode}&q=${encodeURIComponent(text)}`);
      await page.waitForTimeout(400);
      assert.deepEqual(await judge(page), [], `${mode} ${text}`);
    }
  }
  for (const view of ['#/graph', '#/health', '#/changes', '#/activity', '#/']) {
    await go(page, view);
    await page.waitForTimeout(400);
    assert.deepEqual(await judge(page), [], view);
  }
  assert.deepEqual(page.outside, []);
  assert.deepEqual(page.troubles, []);
  await page.context().close();
});
