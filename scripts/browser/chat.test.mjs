// Conversations and approvals before a scripted model: what a person sees, clicks and types, and what is in the vault afterwards.
import { after, before, test } from 'node:test';
import assert from 'node:assert/strict';
import { Server, accessible, closeBrowser, go, shot, until, visit } from './rig.mjs';

const NOTE = 'Garden/Bees.md';
const append = (content) => ({ calls: [{ name: 'append_to_file', input: { path: NOTE, content } }] });
const long = Array.from({ length: 60 }, (_, at) => `Paragraph ${at + 1} says something about the garden, at some length, so that it fills the page.`).join('\n\n');
const turns = [
  { for: 'stream', thinking: 'First I look around.', text: 'I look around.', calls: [{ name: 'read_file', input: { path: NOTE } }], usage: { input: 900, output: 40 } },
  { for: 'stream', text: `# What I found\n\n${long}`, chunk: 60, pause_ms: 15, usage: { input: 1200, output: 900, dollars: 0.02 } },
  ...['once', 'edited', 'denied', 'closed', 'always', 'tabs', 'dialog', 'keyboard', 'away'].flatMap((word) => [
    { for: word, ...append(`\nWritten: ${word}.\n`) }, { for: word, text: `The tool said: {{result}}` },
  ]),
  { for: 'double', calls: [...append('\nFirst of two.\n').calls, { name: 'delete_file', input: { path: 'Inbox.md' } }] },
  { for: 'double', text: 'Both were answered.' },
  { for: 'asks', calls: [{ name: 'ask_user', input: { question: 'Which bed?', options: ['North', 'South'], allow_free_text: true } }] },
  { for: 'asks', text: 'You said: {{result}}' },
  { for: 'slowly', text: 'word '.repeat(400), chunk: 5, pause_ms: 40 },
  { for: 'killed', text: 'word '.repeat(400), chunk: 5, pause_ms: 40 },
];

let server;
before(async () => { server = await Server.start({ turns }); });
after(async () => { await closeBrowser(); await server.end(); });

const box = (page) => page.getByRole('textbox', { name: 'Message' });
const ask = (page) => page.locator('dialog.ask');
/** A person reads before they say yes; a yes that comes at once does not count. */
const read = (page) => page.waitForTimeout(800);
async function say(page, text) {
  await box(page).fill(text);
  await box(page).press('Enter');
  await page.locator('.bubble', { hasText: text }).waitFor();
}
async function begin(text, options) {
  const page = await visit(server, { hash: '#/chat', ...options });
  await say(page, text);
  return page;
}
const over = (page, turn = 1) => until('the end of the turn', async () => (await page.locator('[data-kind="over"]').count()) >= turn && !(await page.locator('.working').isVisible()));
const atEnd = (page) => page.locator('.scroller').evaluate((box) => box.scrollHeight - box.scrollTop - box.clientHeight < 24);
async function finish(page) {
  page.fine();
  await page.context().close();
}

test('an answer streams, what was selected and opened stays, and the end is kept in view only while one is there', async () => {
  const page = await begin('stream please');
  await page.locator('.answer.streaming p').nth(8).waitFor();
  assert.ok(await atEnd(page));
  await page.evaluate(() => {
    const text = document.querySelectorAll('.answer.streaming p')[3].firstChild;
    getSelection().setBaseAndExtent(text, 0, text, 9);
    document.querySelector('.thinking').open = true;
  });
  await page.mouse.move(800, 400);
  await page.mouse.wheel(0, -400);
  await page.locator('.jump').waitFor();
  const place = await page.locator('.scroller').evaluate((scroller) => scroller.scrollTop);
  await page.waitForTimeout(300);
  assert.equal(await page.locator('.scroller').evaluate((scroller) => scroller.scrollTop), place);
  assert.equal(await page.evaluate(() => getSelection().toString()), 'Paragraph');
  assert.ok(await page.locator('.thinking').first().evaluate((fold) => fold.open));
  await page.locator('.jump').click();
  await over(page);
  assert.ok(await atEnd(page));
  assert.match(await page.locator('.transcript [aria-live="polite"]').textContent(), /^Answer: # What I found/);
  assert.match(await page.locator('.meter').textContent(), /tokens/);
  assert.match(page.url(), /#\/chat\/\w+$/);
  await finish(page);
});

test('a reload in the middle of a stream shows the same, and goes on', async () => {
  const page = await begin('stream again');
  await page.locator('.answer.streaming p').nth(5).waitFor();
  await page.reload();
  await page.locator('.answer.streaming').waitFor();
  await over(page);
  assert.match(await page.locator('.answer').last().locator('p').last().textContent(), /^Paragraph 60 /);
  assert.equal(await page.locator('.bubble').count(), 1);
  await finish(page);
});

test('stop stops, and what was said so far is kept', async () => {
  const page = await begin('slowly');
  await page.locator('.answer.streaming').waitFor();
  await page.getByRole('button', { name: 'Stop' }).click();
  await over(page);
  assert.match(await page.locator('.answer .markdown').first().textContent(), /^\s*word word/);
  assert.ok(!(await page.getByRole('button', { name: 'Stop' }).isVisible()));
  await finish(page);
});

test('approved once, the note is written; the card shows it, and it is taken back from there', async () => {
  const before = server.read(NOTE);
  const page = await begin('once');
  await ask(page).waitFor();
  assert.equal(server.read(NOTE), before);
  assert.match(await ask(page).textContent(), /wants to change Garden\/Bees\.md/);
  assert.match(await ask(page).locator('.diff').textContent(), /Written: once\./);
  await read(page);
  await ask(page).getByRole('button', { name: 'Approve', exact: true }).click();
  await over(page);
  assert.ok(server.read(NOTE).endsWith('\nWritten: once.\n'));
  await page.locator('a.chip.changed', { hasText: 'Bees' }).waitFor();
  await page.getByRole('button', { name: 'Take back' }).click();
  await page.locator('dialog').getByRole('button', { name: 'Take back' }).click();
  await until('the note is as it was', () => server.read(NOTE) === before);
  await finish(page);
});

test('edited, it is asked about once more with what would change then, and that is written', async () => {
  const page = await begin('edited');
  await ask(page).waitFor();
  const yes = () => ask(page).locator('.ask-buttons .main');
  await ask(page).getByLabel('content').fill('');
  assert.ok(await yes().isDisabled());
  await ask(page).getByLabel('content').fill('\nOther words.\n');
  await read(page);
  await yes().click();
  await ask(page).locator('.diff', { hasText: 'Other words.' }).waitFor();
  await read(page);
  await yes().click();
  await over(page);
  assert.ok(server.read(NOTE).endsWith('\nOther words.\n'));
  await finish(page);
});

test('denied with a reason or closed, nothing is written and the model is told', async () => {
  const before = server.read(NOTE);
  const page = await begin('denied');
  await ask(page).getByRole('button', { name: 'Deny' }).first().click();
  await page.keyboard.type('not in this note');
  await page.keyboard.press('Enter');
  await over(page);
  await page.locator('.answer', { hasText: 'not in this note' }).waitFor();
  await go(page, '#/chat');
  await say(page, 'closed');
  await ask(page).waitFor();
  await page.keyboard.press('Escape');
  await over(page);
  assert.equal(server.read(NOTE), before);
  await finish(page);
});

test('a rule is shown before it is saved', async () => {
  const page = await begin('always');
  await ask(page).getByRole('button', { name: 'Always for…' }).click();
  assert.match(await ask(page).locator('.rule').textContent(), /append_to_file on \/Garden\/Bees\.md/);
  await ask(page).getByRole('button', { name: 'Back' }).first().click();
  await read(page);
  await ask(page).getByRole('button', { name: 'Approve for this task' }).click();
  await over(page);
  await finish(page);
});

test('answered in one tab, the dialog of the other closes with words; a reload brings an open one back', async () => {
  const page = await begin('tabs');
  await ask(page).waitFor();
  const other = await visit(server, { context: page.context(), hash: new URL(page.url()).hash });
  await ask(other).waitFor();
  await other.reload();
  await ask(other).waitFor();
  await read(other);
  await ask(other).getByRole('button', { name: 'Approve', exact: true }).click();
  await ask(page).waitFor({ state: 'detached' });
  await page.locator('.toast', { hasText: 'gone' }).waitFor();
  await over(page);
  await over(other);
  assert.ok(server.read(NOTE).endsWith('\nWritten: tabs.\n'));
  await finish(page);
});

test('questions of a conversation that is not in view wait in the inbox', async () => {
  const page = await begin('away');
  await ask(page).waitFor();
  await go(page, '#/');
  await ask(page).waitFor({ state: 'detached' });
  assert.match(await page.title(), /^\(1\) /);
  await go(page, '#/chat');
  await page.locator('.session', { hasText: 'waits for you' }).waitFor();
  await page.locator('#inbox-button').click();
  await shot(page, 'inbox-light');
  await accessible(page, 'inbox');
  await page.locator('.inbox-row').click();
  await read(page);
  await ask(page).getByRole('button', { name: 'Approve', exact: true }).click();
  await until('the note is written', () => server.read(NOTE).endsWith('\nWritten: away.\n'));
  await until('nothing waits', async () => !(await page.locator('#inbox-button').isVisible()));
  assert.equal(await page.locator('.session', { hasText: 'waits for you' }).count(), 0);
  await finish(page);
});

test('a double click and a held key answer one question, not the next', async () => {
  const page = await begin('double');
  await ask(page).waitFor();
  await read(page);
  await ask(page).getByRole('button', { name: 'Approve', exact: true }).dblclick();
  await ask(page).getByText('Inbox').first().waitFor();
  await page.keyboard.down('Enter');
  for (let repeat = 0; repeat < 12; repeat += 1) { await page.waitForTimeout(60); await page.keyboard.down('Enter'); }
  await page.keyboard.up('Enter');
  assert.equal(await ask(page).count(), 1, 'the second question still stands');
  assert.ok(server.read('Inbox.md'));
  await page.keyboard.press('Escape');
  await over(page);
  assert.ok(server.read('Inbox.md'));
  await finish(page);
});

test('a question of the model is answered', async () => {
  const page = await begin('asks');
  await ask(page).getByText('South').click();
  await accessible(page, 'question');
  await read(page);
  await ask(page).getByRole('button', { name: 'Answer', exact: true }).click();
  await over(page);
  await page.locator('.answer', { hasText: 'South' }).waitFor();
  await finish(page);
});

test('with the keyboard alone: written, completed, approved', async () => {
  const page = await visit(server, { hash: '#/chat' });
  await box(page).focus();
  await page.keyboard.type('keyboard, see @fros');
  await page.locator('.complete li').first().waitFor();
  await page.keyboard.press('Tab');
  assert.match(await box(page).inputValue(), /@\[\[Garden\/Frost\]\] $/);
  await page.keyboard.press('Enter');
  await ask(page).waitFor();
  await read(page);
  await page.keyboard.press('Enter');
  await over(page);
  assert.ok(server.read(NOTE).endsWith('\nWritten: keyboard.\n'));
  await finish(page);
});

for (const [theme, width, height, name] of [['light', 1280, 840, 'light'], ['dark', 1280, 840, 'dark'], ['light', 390, 800, 'phone']]) {
  test(`a conversation and a dialog, ${name}`, async () => {
    const page = await begin('dialog', { theme, width, height });
    await ask(page).waitFor();
    await shot(page, `approval-${name}`);
    await accessible(page, `approval ${name}`);
    await page.keyboard.press('Escape');
    await over(page);
    await page.locator('.call > summary').first().click();
    await page.waitForTimeout(200);
    await shot(page, `conversation-${name}`);
    await accessible(page, `conversation ${name}`);
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)) <= 0);
    if (name === 'phone') {
      await page.getByRole('button', { name: 'Show the conversations' }).click();
      await page.locator('.session').first().waitFor();
      await shot(page, 'conversations-phone');
      await accessible(page, 'conversations phone');
    }
    await finish(page);
  });
}

test('the server is killed in the middle and started again: the page finds it, and the turn is gone on with', async () => {
  const page = await begin('killed');
  await page.locator('.answer.streaming').waitFor();
  await server.down('SIGKILL');
  await server.up();
  await page.getByRole('button', { name: 'Go on' }).waitFor({ timeout: 20_000 });
  await page.getByRole('button', { name: 'Go on' }).click();
  await page.locator('.answer.streaming').waitFor();
  await page.getByRole('button', { name: 'Stop' }).click();
  await page.context().close();
});

test('without a model the page says what one is for and how to get it', async () => {
  const bare = await Server.start();
  const page = await visit(bare, { hash: '#/chat' });
  await page.getByRole('heading', { name: 'There is no model yet' }).waitFor();
  assert.equal(await page.locator('.ways li').count(), 3);
  assert.equal(await page.locator('.composer').isVisible(), false);
  await finish(page);
  await bare.end();
});
