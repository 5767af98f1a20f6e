// What the browser tests share: a server over a copy of the tour vault, a browser, screenshots, and the judge of accessibility.
import { execFileSync, spawn } from 'node:child_process';
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';

const require = createRequire(import.meta.url);
const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

/** A server over a vault of its own; `turns` are the turns of a scripted model, without them there is no model. */
export class Server {
  static async start({ turns, vault, files = {}, args = [], config } = {}) {
    const server = new Server();
    server.folder = mkdtempSync(join(tmpdir(), 'verger-browser-'));
    server.vault = join(server.folder, 'tour');
    cpSync(vault ?? process.env.TOUR, server.vault, { recursive: true });
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(join(server.vault, path, '..'), { recursive: true });
      writeFileSync(join(server.vault, path), text);
    }
    mkdirSync(join(server.folder, 'config'));
    if (config) writeFileSync(join(server.folder, 'config', 'config.toml'), config);
    server.args = [...args];
    if (turns) {
      writeFileSync(join(server.folder, 'demo.jsonl'), turns.map((turn) => JSON.stringify(turn)).join('\n'));
      server.args.push('--model', 'script@demo.jsonl');
    }
    server.port = 0;
    await server.up();
    return server;
  }

  get env() {
    return { PATH: process.env.PATH, HOME: this.folder, VERGER_CONFIG_DIR: join(this.folder, 'config'), VERGER_DATA_DIR: join(this.folder, 'data') };
  }

  /** Another process of Verger on the same vault, as a person in a terminal would start it. */
  run(...args) {
    return execFileSync(process.env.VERGER, ['--vault', this.vault, ...args], { env: this.env }).toString();
  }

  /** A link for one more browser: each counts once. */
  newLink() {
    return this.run('serve', '--link', '--address', `127.0.0.1:${this.port}`).trim();
  }

  /** Starts it, at the same port as before. */
  async up() {
    const env = this.env;
    mkdirSync(env.VERGER_DATA_DIR, { recursive: true });
    this.process = spawn(process.env.VERGER, ['--vault', this.vault, 'serve', '--address', `127.0.0.1:${this.port}`, ...this.args], { env, cwd: this.folder, stdio: ['ignore', 'ignore', 'pipe'] });
    this.log = '';
    this.link = await new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`the server does not start: ${this.log}`)), 20_000);
      this.process.stderr.on('data', (bytes) => {
        this.log += bytes;
        const found = /(http:\/\/\S+\/login#\S+)\s/.exec(this.log);
        if (found) { clearTimeout(late); resolve(found[1]); }
      });
      this.process.once('exit', (code) => { clearTimeout(late); reject(new Error(`the server ended with ${code}: ${this.log}`)); });
    });
    this.base = new URL(this.link).origin;
    this.port = new URL(this.link).port;
  }

  /** Ends it: `SIGKILL` as a power cut would, `SIGTERM` in good order. */
  async down(signal = 'SIGTERM') {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    const ended = new Promise((resolve) => this.process.once('exit', resolve));
    this.process.kill(signal);
    await ended;
  }

  async end() {
    await this.down('SIGKILL');
    rmSync(this.folder, { recursive: true, force: true });
  }

  read(path) { return readFileSync(join(this.vault, path), 'utf8'); }
}

let browser;
export async function closeBrowser() { await browser?.close(); browser = null; }

/** A page that is logged in. It fails the test when a script breaks, when something is asked of another host, or when the policy had to stop something. */
export async function visit(server, { hash = '#/', theme = 'light', width = 1280, height = 840, context, expectPolicy = false } = {}) {
  browser ??= await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] });
  const own = context ?? await browser.newContext({ viewport: { width, height }, colorScheme: theme, reducedMotion: 'reduce' });
  const page = await own.newPage();
  page.troubles = [];
  page.outside = [];
  page.on('pageerror', (error) => page.troubles.push(`script: ${error.message}`));
  page.on('console', (message) => {
    if (message.type() === 'error' && /Content Security Policy|Trusted/i.test(message.text())) page.troubles.push(`policy: ${message.text()}`);
  });
  page.on('request', (request) => { if (!request.url().startsWith(server.base) && !request.url().startsWith('data:') && !request.url().startsWith('blob:')) page.outside.push(request.url()); });
  page.on('dialog', (dialog) => { page.troubles.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  if (!context) {
    await page.goto(server.newLink());
    await page.waitForURL(`${server.base}/`);
  }
  await page.goto(`${server.base}/${hash}`);
  await page.locator('main h1').first().waitFor();
  page.fine = () => {
    assert.deepEqual(page.outside, [], 'nothing is asked of other hosts');
    if (!expectPolicy) assert.deepEqual(page.troubles, [], 'nothing breaks');
  };
  return page;
}

/** Goes to another view. */
export async function go(page, hash) {
  await page.evaluate((to) => { location.hash = to; }, hash);
  await page.locator('main h1').first().waitFor();
}

/** Writes a picture to target/screens. */
export const shot = (page, name) => page.screenshot({ path: join(process.env.SCREENS, `${name}.png`) });

/** No serious or critical finding of axe-core on what is shown. */
export async function accessible(page, name) {
  // Into a world of its own: the page's policy lets no foreign script in, and that is as it should be.
  const session = await page.context().newCDPSession(page);
  const { frameTree } = await session.send('Page.getFrameTree');
  const { executionContextId: contextId } = await session.send('Page.createIsolatedWorld', { frameId: frameTree.frame.id, worldName: 'axe' });
  await session.send('Runtime.evaluate', { expression: AXE, contextId });
  const { result, exceptionDetails } = await session.send('Runtime.evaluate', {
    expression: 'axe.run(document, { resultTypes: ["violations"] }).then((r) => JSON.stringify(r.violations))', contextId, awaitPromise: true, returnByValue: true,
  });
  assert.equal(exceptionDetails, undefined, JSON.stringify(exceptionDetails));
  await session.detach();
  const grave = JSON.parse(result.value).filter((found) => ['serious', 'critical'].includes(found.impact));
  const words = grave.map((found) => `${found.id}: ${found.help}\n    ${found.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join('\n    ')}`);
  assert.equal(grave.length, 0, `${name}:\n  ${words.join('\n  ')}`);
}

/** Waits until something is so. */
export async function until(what, wanted, ms = 10_000) {
  const end = Date.now() + ms;
  for (;;) {
    if (await wanted()) return;
    if (Date.now() > end) throw new Error(`waited for: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
