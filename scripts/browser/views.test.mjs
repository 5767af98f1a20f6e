// Every view, light and dark and at a phone's width: a picture, the judge of accessibility, nothing cut off sideways.
import { after, before, test } from 'node:test';
import assert from 'node:assert/strict';
import { Server, accessible, closeBrowser, go, shot, visit } from './rig.mjs';

const VIEWS = [
  ['home', '#/'], ['chat', '#/chat'], ['notes', '#/notes/Garden/Garden.md'], ['find', '#/find?q=garden'], ['changes', '#/changes'],
  ['graph', '#/graph'], ['health', '#/health'], ['activity', '#/activity'], ['settings', '#/settings'],
];
let server;
before(async () => {
  server = await Server.start();
  // Something to look at: changes by somebody in a terminal, and one that was taken back.
  server.run('append', 'Garden/Bees', 'The hive by the wall swarmed on Sunday.', '--yes');
  server.run('append', 'Inbox', '- [ ] ask Tobias about the ladder', '--yes');
  server.run('mv', 'Garden/Slugs.md', 'Garden/Slugs and snails.md', '--yes');
  server.run('append', 'Start', 'A line that was a mistake.', '--yes');
  server.run('undo', '--yes');
});
after(async () => { await closeBrowser(); await server.end(); });

for (const [theme, width, height, name] of [['light', 1280, 840, 'light'], ['dark', 1280, 840, 'dark'], ['light', 390, 800, 'phone']]) {
  test(`every view, ${name}`, async (t) => {
    const page = await visit(server, { theme, width, height });
    for (const [view, hash] of VIEWS) {
      await t.test(view, async () => {
        await go(page, hash);
        await page.waitForTimeout(400);
        await shot(page, `${view}-${name}`);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(wide <= 0, `${wide} px are cut off sideways`);
        await accessible(page, `${view} ${name}`);
        page.fine();
      });
    }
    await page.context().close();
  });
}

test('the first paint takes less than 100 ms', async () => {
  const page = await visit(server);
  const times = [];
  for (let round = 0; round < 5; round += 1) {
    await page.goto(`${server.base}/`);
    await page.locator('main h1').first().waitFor();
    times.push(await page.evaluate(() => performance.getEntriesByType('paint').find((entry) => entry.name === 'first-contentful-paint').startTime));
  }
  times.sort((a, b) => a - b);
  console.log(`first contentful paint: ${times.map((time) => time.toFixed(0)).join(', ')} ms`);
  assert.ok(times[2] < 100, `median ${times[2]} ms`);
  await page.context().close();
});
