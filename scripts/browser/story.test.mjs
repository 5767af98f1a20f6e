// One whole piece of work as a person lives it, with everything that a conversation can show; the README's picture is made here.
import { after, before, test } from 'node:test';
import assert from 'node:assert/strict';
import { Server, accessible, closeBrowser, shot, until, visit } from './rig.mjs';

const ROTA = 'Garden/Watering rota.md';
const turns = [
  { for: 'rota', thinking: 'The rota is in the garden. I look at it and at the frost dates before I write.', text: 'I read the rota and the frost notes first.',
    calls: [{ name: 'read_file', input: { path: ROTA } }, { name: 'search_files', input: { path: 'Garden', pattern: 'frost' } }], usage: { input: 5200, output: 80, dollars: 0.017 } },
  { for: 'rota', calls: [{ name: 'update_todo_list', input: { todos: '- [x] read the rota\n- [x] look up the frost\n- [ ] add the rule' } }] },
  { for: 'rota', calls: [{ name: 'find_tool', input: { query: 'spawn_agent' } }] },
  { for: 'rota', calls: [{ name: 'spawn_agent', input: { agents: [{ name: 'checker', task: 'helper-work: who waters on Sundays?' }] } }] },
  { for: 'helper-work', thinking: 'I read it.', calls: [{ name: 'read_file', input: { path: ROTA } }] },
  { for: 'helper-work', text: 'Nobody waters on Sundays.' },
  { for: 'rota', calls: [{ name: 'edit_file', input: { path: ROTA, old_str: '- Sunday: nobody. Even lettuce should have a day.', new_str: '- Sunday: nobody. Even lettuce should have a day.\n- When [[Frost]] is near: nobody, and the fleece goes on before dusk.' } }] },
  { for: 'rota', text: 'The rota has a line for frosty days now:\n\n> When [[Frost]] is near: nobody, and the fleece goes on before dusk.\n\nSundays stay free.', usage: { input: 6100, output: 120, dollars: 0.02 } },
  { for: 'picture', text: 'A picture, and a file that says: I am small.' },
  { for: 'again', text: 'First answer.' },
  { for: 'other words', text: 'An answer to other words.' },
];

let server;
before(async () => { server = await Server.start({ turns }); });
after(async () => { await closeBrowser(); await server.end(); });
const box = (page) => page.getByRole('textbox', { name: 'Message' });
const over = (page) => until('the end of the turn', async () => (await page.locator('[data-kind="over"]').count()) >= 1 && !(await page.locator('.working').isVisible()));

test('a rule is added to a note: thoughts, cards, a helper, a list, the dialog, the change, taking it back', async () => {
  const page = await visit(server, { hash: '#/chat' });
  await box(page).fill('Add a rule for frosty days to the watering rota.');
  await page.keyboard.press('Enter');
  const ask = page.locator('dialog.ask');
  await ask.waitFor({ timeout: 20_000 });
  await page.waitForTimeout(800);
  await shot(page, 'story-approval-light');
  await ask.getByRole('button', { name: 'Approve', exact: true }).click();
  await over(page);
  assert.match(server.read(ROTA), /fleece goes on before dusk/);
  assert.equal(await page.locator('.todo').isVisible(), true);
  assert.equal(await page.locator('details.child').count(), 1);
  assert.ok(await page.locator('.thinking').count());
  assert.match(await page.locator('main').textContent(), /\$0\.0/);
  await page.locator('details.child > summary').click();
  await page.waitForTimeout(200);
  await shot(page, 'story-light');
  await accessible(page, 'story');
  page.fine();
  await page.context().close();
});

test('pictures and text files go along', async () => {
  const page = await visit(server, { hash: '#/chat' });
  const pixel = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');
  await page.locator('input[type=file]').setInputFiles([{ name: 'dot.png', mimeType: 'image/png', buffer: pixel }, { name: 'small.txt', mimeType: 'text/plain', buffer: Buffer.from('I am small.') }]);
  await page.getByRole('button', { name: 'Remove dot.png' }).waitFor();
  await box(page).fill('picture and file');
  await page.keyboard.press('Enter');
  await over(page);
  assert.equal(await page.locator('.attached li').count(), 2);
  page.fine();
  await page.context().close();
});

test('retry and edit go on in a copy; the first conversation stays', async () => {
  const page = await visit(server, { hash: '#/chat' });
  await box(page).fill('again please');
  await page.keyboard.press('Enter');
  await over(page);
  const first = page.url();
  await page.locator('.message.user').hover();
  await page.getByRole('button', { name: 'Edit' }).first().click();
  await page.getByRole('textbox', { name: 'Your message, to be sent anew' }).fill('other words');
  await page.getByRole('button', { name: 'Send anew' }).click();
  await until('a copy', () => page.url() !== first);
  await page.locator('.answer', { hasText: 'An answer to other words.' }).waitFor();
  await page.goto(first);
  await page.locator('.answer', { hasText: 'First answer.' }).waitFor();
  page.fine();
  await page.context().close();
});
