// Notes: folders at the left, the note in the middle, what belongs to it at the right. On small screens they are tabs.
import { fill, h, later } from '../dom.js';
import { get, post } from '../api.js';
import * as live from '../live.js';
import { trouble } from '../toast.js';
import { makeTree } from '../notes/tree.js';
import { folderOf, pageOf } from '../notes/address.js';
import { showFound, showMissing, showNote } from '../notes/reading.js';
import { showSide } from '../notes/side.js';

const TABS = [['files', 'Files'], ['note', 'Note'], ['about', 'About']];

/** The tree stays as it is while one walks from note to note. */
let tree = null;
let treeScroll = 0;

export async function mount(root, { rest, query }) {
  tree ??= makeTree();
  const path = rest.replace(/\/+$/, '');
  const article = h('article.reading', { tabindex: '-1' });
  const reading = h('div.notes-reading', article);
  const side = h('aside.notes-side', { 'aria-label': 'About this note' });
  const files = h('nav.notes-files', { 'aria-label': 'Files' }, tree.element);
  const tabs = h('div.tabs.notes-tabs', { role: 'tablist', 'aria-label': 'Parts of this view' }, TABS.map(([slug, name]) => h('button', {
    type: 'button', role: 'tab', dataset: { slug }, 'aria-selected': 'false', onclick: () => choose(slug),
  }, name)));
  const box = h('div.notes-view', files, reading, side);
  const choose = (slug) => {
    box.dataset.tab = slug;
    for (const tab of tabs.children) tab.setAttribute('aria-selected', String(tab.dataset.slug === slug));
  };
  choose('note');
  root.append(tabs, box);
  files.scrollTop = treeScroll;

  let shown = null;
  let say = () => {};
  const go = (id) => {
    const target = document.getElementById(id);
    if (!target) return;
    choose('note');
    target.closest('details')?.setAttribute('open', '');
    if (target.offsetParent === null) reading.scrollTop = 0;
    else target.scrollIntoView({ block: 'start' });
    history.replaceState(null, '', pageOf(path, { h: id }));
  };

  const follow = () => {
    const top = reading.getBoundingClientRect().top + 90;
    let now = null;
    for (const heading of article.querySelectorAll('.prose [id^="h-"]')) {
      if (heading.getBoundingClientRect().top > top) break;
      now = heading.id;
    }
    say(now ?? article.querySelector('.prose [id^="h-"]')?.id);
  };
  let waits = false;
  reading.addEventListener('scroll', () => {
    if (waits) return;
    waits = true;
    requestAnimationFrame(() => { waits = false; follow(); });
  }, { passive: true });

  // A place in the same note is gone to; the page is not made anew for it.
  article.addEventListener('click', (event) => {
    const link = event.target.closest('a[href^="#/notes/"]');
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    const [to, behind = ''] = link.getAttribute('href').split('?');
    const id = new URLSearchParams(behind).get('h');
    if (!id || to !== pageOf(path)) return;
    event.preventDefault();
    go(id);
  });

  async function load({ first = false } = {}) {
    let note;
    try {
      note = await get('/api/note', { path });
    } catch (problem) {
      if (problem.status === 404) {
        shown = null;
        fill(side);
        showMissing(article, path, problem);
        return;
      }
      // One that cannot be read as text says so beside the tree.
      if (first && problem.status !== 422) throw problem;
      if (first) fill(article, h('h1', path.split('/').at(-1)), h('p.note-box.warn', `${problem.message}. ${problem.hint}.`));
      return;
    }
    const same = JSON.stringify(note);
    if (same === shown) return;
    shown = same;
    const scroll = reading.scrollTop;
    const focused = article.contains(document.activeElement) ? document.activeElement.dataset?.line : null;
    const body = showNote(article, note, { onTicked: () => { shown = null; }, onStale: () => { shown = null; load(); } });
    say = showSide(side, note, go);
    document.title = `${note.name} · ${document.getElementById('vault-name').textContent}`;
    if (note.path !== path) history.replaceState(null, '', pageOf(note.path));
    if (first && query.get('h')) document.getElementById(query.get('h'))?.scrollIntoView({ block: 'start' });
    else if (first && query.get('mark')) showFound(body, query.get('mark'));
    else reading.scrollTop = scroll;
    if (focused) article.querySelector(`input[data-line="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
    follow();
  }

  async function newest() {
    const { names } = await post('/api/names', { text: '', limit: 24 });
    if (!names.length) {
      fill(article, h('div.empty', h('h1', 'Notes'), h('p', 'This vault holds no notes yet.'), h('p.muted', 'Put Markdown files into its folder, or ask for a first note in the chat.')));
      return;
    }
    fill(article, h('h1', 'Notes'), h('p.muted', 'Changed last. Pick one here or in the folders.'),
      h('ul.plain.newest', names.map((note) => h('li', h('a', { href: pageOf(note.path) }, note.name), h('span.muted.small', folderOf(note.path))))));
  }

  const work = [path ? load({ first: true }) : newest(), tree.mark(path).catch(trouble)];
  let beat = null;
  const again = later(250, () => {
    (path ? load() : newest()).catch(() => {});
    tree.refresh().catch(() => {});
  });
  const stop = live.on('pulse', (pulse) => {
    if (beat !== null && pulse.notes !== beat) again();
    beat = pulse.notes;
  });
  await Promise.all(work);
  return () => {
    treeScroll = files.scrollTop;
    globalThis.CSS?.highlights?.delete('found');
    stop();
  };
}

