// The shell: which view is shown, the keys that work everywhere, and what every view shares.
import { fill, h, icon } from './dom.js';
import { get, post } from './api.js';
import * as live from './live.js';
import { offer, openPalette } from './palette.js';
import { trouble } from './toast.js';
import { begin as beginApprovals } from './approval.js';

/** The views, in the order of the rail. `keys` is typed after `g`. */
const VIEWS = [
  { slug: '', name: 'Home', icon: 'home', keys: 'h', load: () => import('./views/home.js') },
  { slug: 'chat', name: 'Chat', icon: 'chat', keys: 'c', load: () => import('./views/chat.js') },
  { slug: 'notes', name: 'Notes', icon: 'notes', keys: 'n', load: () => import('./views/notes.js') },
  { slug: 'find', name: 'Find', icon: 'find', keys: 'f', load: () => import('./views/find.js') },
  { slug: 'changes', name: 'Changes', icon: 'changes', keys: 'v', load: () => import('./views/changes.js') },
  { slug: 'graph', name: 'Graph', icon: 'graph', keys: 'r', load: () => import('./views/graph.js') },
  { slug: 'health', name: 'Health', icon: 'health', keys: 'e', load: () => import('./views/health.js') },
  { slug: 'activity', name: 'Activity', icon: 'activity', keys: 'a', load: () => import('./views/activity.js') },
  { slug: 'settings', name: 'Settings', icon: 'settings', keys: 's', load: () => import('./views/settings.js') },
];

const main = document.getElementById('main');
const rail = document.getElementById('rail');
let leave = null;
let turn = 0;

/** What an address says; one that was typed wrongly says what was typed. */
function plain(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Where we are: `#/notes/a/b.md?x=1` is view `notes`, rest `a/b.md`, query `x=1`. */
export function here() {
  const [path, query = ''] = location.hash.replace(/^#\/?/, '').split('?');
  const [slug, ...rest] = path.split('/');
  return { slug, rest: plain(rest.join('/')), query: new URLSearchParams(query) };
}

async function show() {
  const mine = ++turn;
  const place = here();
  const view = VIEWS.find((known) => known.slug === place.slug) ?? VIEWS[0];
  for (const link of rail.querySelectorAll('a')) link.toggleAttribute('aria-current', link.dataset.slug === view.slug);
  for (const link of rail.querySelectorAll('a[aria-current]')) link.setAttribute('aria-current', 'page');
  leave?.();
  leave = null;
  const root = h(`section.view.view-${view.slug || 'home'}`, { 'aria-label': view.name });
  const slow = setTimeout(() => mine === turn && !root.childElementCount && fill(main, h('p.waiting', `Opening ${view.name}…`)), 150);
  try {
    const module = await view.load();
    if (mine !== turn) return;
    document.title = `${view.name} · ${document.getElementById('vault-name').textContent}`;
    clearTimeout(slow);
    fill(main, root);
    const left = await module.mount(root, place);
    if (mine === turn) leave = left ?? null;
    else left?.();
  } catch (problem) {
    clearTimeout(slow);
    if (mine !== turn || problem?.name === 'AbortError') return;
    fill(main, h('div.empty', h('h1', 'That did not work'), h('p', problem.message ?? String(problem)), problem.hint && h('p.muted', problem.hint),
      h('button', { type: 'button', onclick: show }, 'Try again')));
  }
}

function buildRail() {
  fill(rail, VIEWS.map((view) => h('a', { href: `#/${view.slug}`, dataset: { slug: view.slug }, title: `${view.name} (g ${view.keys})` }, icon(view.icon), h('span', view.name))),
    h('button.more', { type: 'button', onclick: () => openPalette('view') }, icon('more'), h('span', 'More')));
  for (const view of VIEWS) offer(`view-${view.slug}`, { name: view.name, hint: 'view', keys: `g ${view.keys}`, run: () => { location.hash = `#/${view.slug}`; } });
}

/* Light and dark. */
const themeButton = document.getElementById('theme-button');
const isDark = () => document.documentElement.dataset.theme === 'dark';
const drawTheme = () => fill(themeButton, icon(isDark() ? 'sun' : 'moon'));
function switchTheme() {
  localStorage.setItem('theme', isDark() ? 'light' : 'dark');
  dispatchEvent(new CustomEvent('verger:theme'));
}

/* Keys: Ctrl K everywhere; g and a letter, / and ? where nobody types. */
let going = 0;
const typing = (target) => target.closest?.('input, textarea, select, [contenteditable="true"]');
addEventListener('keydown', (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
    event.preventDefault();
    openPalette();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target) || document.querySelector('dialog[open]')) return;
  if (Date.now() - going < 1500) {
    going = 0;
    const view = VIEWS.find((known) => known.keys === event.key);
    if (view) location.hash = `#/${view.slug}`;
  } else if (event.key === 'g') going = Date.now();
  else if (event.key === '/' || event.key === '?') {
    event.preventDefault();
    openPalette();
  }
});

/* Logged out: the page says so and stays. */
addEventListener('verger:logged-out', (event) => {
  fill(main, h('div.empty', h('h1', 'You are not logged in'), h('p', 'Open a login link of this server in this browser.'), h('p.muted', event.detail.hint)));
});

/* The stream: quiet words when it is gone, none when it is there. */
let gone = null;
live.on('offline', () => { gone ??= setTimeout(() => document.body.classList.add('offline'), 1500); });
live.on('online', () => {
  clearTimeout(gone);
  gone = null;
  document.body.classList.remove('offline');
});

async function begin() {
  buildRail();
  drawTheme();
  themeButton.addEventListener('click', switchTheme);
  addEventListener('verger:theme', drawTheme);
  document.getElementById('open-palette').addEventListener('click', () => openPalette());
  offer('theme', { name: 'Switch between light and dark', run: switchTheme });
  offer('logout', { name: 'Log out', hint: 'this browser', run: () => post('/api/logout').then(() => location.replace('/login'), trouble) });
  addEventListener('hashchange', show);
  const about = await get('/api/about').catch(() => null);
  if (!about) return;
  document.getElementById('vault-name').textContent = about.vault;
  live.start();
  beginApprovals();
  show();
}

begin();
