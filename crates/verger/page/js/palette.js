// Ctrl K: go anywhere, do anything. Views and parts of the page register what they offer; notes are looked up as one types.
import { fill, h, later } from './dom.js';
import { post } from './api.js';
import { pageOf } from './notes/address.js';

const commands = new Map();

/** Offers a command: {name, hint, keys, run}. Returns how to take it back. */
export function offer(id, command) {
  commands.set(id, command);
  return () => commands.delete(id);
}

function fits(text, words) {
  const low = text.toLowerCase();
  return words.every((word) => low.includes(word));
}

let open = false;

export function openPalette(typed = '') {
  if (open) return;
  open = true;
  let rows = [];
  let at = 0;
  const list = h('ul#palette-list.palette-list', { role: 'listbox', 'aria-label': 'What can be done' });
  const input = h('input', {
    type: 'search', value: typed, placeholder: 'A view, a command, a note…', 'aria-label': 'Go to anything', role: 'combobox',
    'aria-expanded': 'true', 'aria-controls': 'palette-list', autocomplete: 'off', spellcheck: 'false',
  });
  const box = h('dialog.palette', { 'aria-label': 'Go to anything' }, input, list);
  const close = () => box.close();
  const run = (row) => { close(); row?.run(); };
  const show = () => {
    at = Math.min(at, Math.max(rows.length - 1, 0));
    fill(list, rows.map((row, index) => h('li', {
      role: 'option', id: `palette-${index}`, 'aria-selected': String(index === at), onclick: () => run(row),
      onmousemove: () => { if (at !== index) { at = index; show(); } },
    }, h('span', row.name), row.hint && h('span.muted', row.hint), row.keys && h('kbd', row.keys))));
    if (!rows.length) fill(list, h('li.muted', { role: 'option', 'aria-disabled': 'true', 'aria-selected': 'false' }, 'Nothing of that name. Enter searches the notes.'));
    input.setAttribute('aria-activedescendant', rows.length ? `palette-${at}` : '');
    list.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' });
  };
  const search = (text) => { location.hash = `#/find?q=${encodeURIComponent(text)}`; };
  let abort = new AbortController();
  const lookUp = later(120, async (text) => {
    abort.abort();
    abort = new AbortController();
    if (!text) return;
    const found = await post('/api/names', { text, limit: 8 }, { signal: abort.signal }).catch(() => null);
    if (!found || input.value.trim() !== text) return;
    rows.push(...found.names.map((note) => ({ name: note.name, hint: note.path, run: () => { location.hash = pageOf(note.path); } })));
    show();
  });
  const typing = () => {
    const text = input.value.trim();
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    rows = [...commands.values()].filter((command) => fits(`${command.name} ${command.hint ?? ''}`, words));
    at = 0;
    show();
    lookUp(text);
  };
  input.addEventListener('input', typing);
  box.addEventListener('keydown', (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && rows.length) {
      at = (at + step + rows.length) % rows.length;
      show();
    } else if (event.key === 'Enter') {
      if (rows.length) run(rows[at]);
      else if (input.value.trim()) { close(); search(input.value.trim()); }
    } else return;
    event.preventDefault();
  });
  box.addEventListener('click', (event) => { if (event.target === box) close(); });
  box.addEventListener('close', () => { open = false; box.remove(); });
  document.body.append(box);
  box.showModal();
  input.focus();
  typing();
}
