// The folders at the left: read one at a time, moved through by arrow keys, as open as they were left.
import { fill, h, icon, later } from '../dom.js';
import { get, post } from '../api.js';
import { trouble } from '../toast.js';
import { folderOf, pageOf } from './address.js';

const KEPT = 'notes-open-folders';

function remembered() {
  try {
    return new Set(JSON.parse(localStorage.getItem(KEPT) ?? '[]').slice(0, 200));
  } catch {
    return new Set();
  }
}

/** Builds the tree. `element` is what to show; `mark(path)` shows where one is; `refresh()` reads again what is open. */
export function makeTree() {
  const open = remembered();
  const branches = new Map();
  let current = '';
  const root = h('ul.tree', { role: 'tree', 'aria-label': 'Folders and notes' });
  const found = h('ul.tree-found', { hidden: true, 'aria-label': 'Names that fit' });
  const status = h('p.visually-hidden', { role: 'status' });
  const filter = h('input', { type: 'search', placeholder: 'Filter by name', 'aria-label': 'Filter notes by name', autocomplete: 'off', spellcheck: 'false' });
  const element = h('div.tree-box', h('div.tree-head', filter), status, root, found);

  const keep = () => localStorage.setItem(KEPT, JSON.stringify([...open].slice(-200)));
  const rows = () => [...root.querySelectorAll('[role="treeitem"]')].filter((row) => row.offsetParent !== null);
  const focus = (row) => {
    if (!row) return;
    for (const other of root.querySelectorAll('[tabindex="0"]')) other.tabIndex = -1;
    row.tabIndex = 0;
    row.focus({ preventScroll: true });
    row.firstElementChild.scrollIntoView({ block: 'nearest' });
  };

  async function read(folder) {
    const branch = await get('/api/tree', { folder });
    branches.set(folder, branch);
    return branch;
  }

  function fileItem(file, level) {
    const here = file.path === current;
    return h('li', { role: 'treeitem', tabindex: '-1', 'aria-level': level, 'aria-selected': String(here), dataset: { path: file.path } },
      h('div.tree-row', { class: here ? 'tree-row here' : 'tree-row', title: file.path, onclick: () => { location.hash = pageOf(file.path); } },
        icon(file.kind === 'note' ? 'notes' : 'file'), h('span.clip', file.name)));
  }

  function folderItem(folder, level) {
    const isOpen = open.has(folder.path);
    const group = h('ul', { role: 'group' });
    const item = h('li', { role: 'treeitem', tabindex: '-1', 'aria-level': level, 'aria-expanded': String(isOpen), dataset: { folder: folder.path } },
      h('div.tree-row', { title: folder.path, onclick: () => toggle(item) }, icon('right'), h('span.clip', folder.name), h('span.tree-count', String(folder.notes || ''))), group);
    if (isOpen && branches.has(folder.path)) fill(group, children(folder.path, level + 1));
    return item;
  }

  const children = (folder, level) => {
    const branch = branches.get(folder) ?? { folders: [], files: [] };
    const nothing = level > 1 && !branch.folders.length && !branch.files.length;
    return [branch.folders.map((child) => folderItem(child, level)), branch.files.map((file) => fileItem(file, level)),
      nothing && h('li.tree-nothing.muted', { role: 'none' }, 'empty'),
      branch.cut && h('li.tree-nothing.muted', { role: 'none' }, 'More files than can be shown; use the filter.')];
  };

  async function toggle(item, wanted = !open.has(item.dataset.folder)) {
    const { folder } = item.dataset;
    if (wanted) {
      open.add(folder);
      if (!branches.has(folder)) await read(folder).catch(trouble);
      fill(item.querySelector('ul'), children(folder, Number(item.getAttribute('aria-level')) + 1));
    } else open.delete(folder);
    item.setAttribute('aria-expanded', String(wanted));
    keep();
  }

  function draw() {
    const focused = document.activeElement?.closest?.('.tree [role="treeitem"]');
    const was = focused && (focused.dataset.path ?? focused.dataset.folder);
    fill(root, children('', 1));
    if (!root.childElementCount) fill(root, h('li.tree-nothing.muted', { role: 'none' }, 'This vault is empty.'));
    const all = [...root.querySelectorAll('[role="treeitem"]')];
    const first = all.find((row) => row.dataset.path === current) ?? all[0];
    if (first) first.tabIndex = 0;
    if (was) focus(all.find((row) => (row.dataset.path ?? row.dataset.folder) === was));
  }

  async function refresh() {
    const wanted = ['', ...open];
    // A folder that is gone is simply not open any more.
    await Promise.all(wanted.map((folder) => read(folder).catch((problem) => {
      if (folder === '') throw problem;
      open.delete(folder);
      branches.delete(folder);
    })));
    draw();
  }

  async function mark(path) {
    current = path;
    const parts = folderOf(path).split('/').filter(Boolean);
    for (let end = 1; end <= parts.length; end += 1) open.add(parts.slice(0, end).join('/'));
    keep();
    const missing = ['', ...open].filter((folder) => !branches.has(folder));
    await Promise.all(missing.map((folder) => read(folder).catch(() => open.delete(folder))));
    draw();
    const row = [...root.querySelectorAll('[data-path]')].find((item) => item.dataset.path === path);
    row?.firstElementChild.scrollIntoView({ block: 'nearest' });
  }

  root.addEventListener('keydown', (event) => {
    const item = event.target.closest('[role="treeitem"]');
    if (!item || event.ctrlKey || event.metaKey || event.altKey) return;
    const all = rows();
    const at = all.indexOf(item);
    const isFolder = item.dataset.folder !== undefined;
    const isOpen = item.getAttribute('aria-expanded') === 'true';
    const act = {
      ArrowDown: () => focus(all[at + 1]),
      ArrowUp: () => focus(all[at - 1]),
      Home: () => focus(all[0]),
      End: () => focus(all.at(-1)),
      ArrowRight: () => { if (isFolder && !isOpen) toggle(item, true); else if (isFolder) focus(all[at + 1]); },
      ArrowLeft: () => { if (isFolder && isOpen) toggle(item, false); else focus(item.parentElement.closest('[role="treeitem"]')); },
      Enter: () => item.firstElementChild.click(),
      ' ': () => item.firstElementChild.click(),
    }[event.key];
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  });

  let abort = new AbortController();
  const look = later(120, async (text) => {
    abort.abort();
    abort = new AbortController();
    if (!text) return;
    const answer = await post('/api/names', { text, limit: 60 }, { signal: abort.signal }).catch((problem) => trouble(problem));
    if (!answer || filter.value.trim() !== text) return;
    status.textContent = `${answer.names.length} names fit`;
    fill(found, answer.names.map((note) => h('li', h('a', { href: pageOf(note.path), title: note.path }, h('span.clip', note.name), note.folder && h('span.clip.muted', note.folder)))));
    if (!answer.names.length) fill(found, h('li.tree-nothing.muted', 'No name fits. Find looks into the texts.'));
  });
  filter.addEventListener('input', () => {
    const text = filter.value.trim();
    root.hidden = Boolean(text);
    found.hidden = !text;
    look(text);
  });
  filter.addEventListener('keydown', (event) => {
    const first = found.hidden ? rows()[0] : found.querySelector('a');
    if (event.key === 'ArrowDown' && first) {
      event.preventDefault();
      if (found.hidden) focus(root.querySelector('[tabindex="0"]') ?? first);
      else first.focus();
    } else if (event.key === 'Enter' && !found.hidden) found.querySelector('a')?.click();
  });
  found.addEventListener('keydown', (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const links = [...found.querySelectorAll('a')];
    (links[links.indexOf(document.activeElement) + step] ?? filter).focus();
  });

  return { element, mark, refresh };
}
