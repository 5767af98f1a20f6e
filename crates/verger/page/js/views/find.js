// Find: one box, four ways to look, answers while one types.
import { count, fill, h, later } from '../dom.js';
import { get, post } from '../api.js';
import * as live from '../live.js';
import { setMarkup } from '../markup.js';
import { pageOf } from '../notes/address.js';
import { showFound } from '../notes/reading.js';
import { showResults, walk } from '../find/results.js';
import { tableView } from '../find/table.js';

const MODES = [
  { slug: 'ranked', name: 'Best', hint: 'Words, in any order; other forms of a word count. The best note comes first. tag:name asks for a tag.' },
  { slug: 'exact', name: 'Exact', hint: 'This very text, line by line, in every file; capital letters do not matter.' },
  { slug: 'meaning', name: 'Meaning', hint: 'Notes about the same, even if they use other words. A sentence works well.' },
  { slug: 'query', name: 'Query', hint: 'A question in Dataview’s language. Ctrl Enter asks.' },
];
const EXAMPLES = ['LIST WHERE contains(file.name, "a")', 'TABLE file.mtime AS Changed, file.size AS Size SORT file.mtime DESC LIMIT 20', 'TASK WHERE !completed', 'TABLE length(file.inlinks) AS "Links here" SORT length(file.inlinks) DESC LIMIT 15', 'LIST WHERE length(file.inlinks) = 0 AND length(file.outlinks) = 0'];
const PAGE = 30;
let notes = null;

export async function mount(root, { query }) {
  const state = { mode: MODES.some(({ slug }) => slug === query.get('mode')) ? query.get('mode') : 'ranked', text: query.get('q') ?? '', folder: query.get('folder') ?? '', rows: [] };
  let abort = new AbortController();
  let slow = null;

  const box = h('input.find-box', { type: 'search', value: state.text, placeholder: 'What are you looking for?', 'aria-label': 'What to look for', autocomplete: 'off', spellcheck: 'false', maxlength: '2000' });
  const area = h('textarea.find-query', { rows: '4', 'aria-label': 'Query', spellcheck: 'false', maxlength: '10000', placeholder: 'TABLE status, due FROM #project WHERE status != "done" SORT due' });
  area.value = state.mode === 'query' ? state.text : '';
  const folders = h('datalist#find-folders');
  const folder = h('input.find-folder', { type: 'search', value: state.folder, list: 'find-folders', placeholder: 'In all folders', 'aria-label': 'Only in this folder', autocomplete: 'off' });
  const hint = h('p.muted.small.find-hint');
  const status = h('p.find-status.small', { role: 'status', 'aria-live': 'polite' });
  const list = h('ul.plain.find-list', { 'aria-label': 'What was found' });
  const more = h('button.small', { type: 'button', hidden: true, onclick: () => look({ further: true }) }, 'Show more');
  const preview = h('aside.find-preview', { 'aria-label': 'Preview' }, h('p.muted.small', 'Move through the results to read here.'));
  const examples = h('div.find-examples', h('p.small.muted', 'For example:'), EXAMPLES.map((text) => h('button.small', { type: 'button', onclick: () => { area.value = text; area.focus(); look(); } }, h('code', text))));
  const asking = h('div.find-asking', area, h('div.row', h('button.main.small', { type: 'button', onclick: () => look() }, 'Ask'), h('span.muted.small', 'Ctrl Enter')), examples);
  const tabs = h('div.tabs', { role: 'tablist', 'aria-label': 'How to look' }, MODES.map(({ slug, name }) => h('button', {
    type: 'button', role: 'tab', id: `find-${slug}`, 'aria-controls': 'find-panel', dataset: { slug }, onclick: () => { choose(slug); look(); },
  }, name)));
  const side = h('div#find-panel.find-main', { role: 'tabpanel' }, asking, status, list, more);
  root.append(h('div.find-view', h('div.find-head', h('h1', 'Find'), h('div.find-line', box, folder, folders), tabs, hint), h('div.find-body', side, preview)));

  const field = () => (state.mode === 'query' ? area : box);
  function choose(mode) {
    const before = field().value;
    const was = state.mode;
    state.mode = mode;
    if (was !== 'query' && mode !== 'query') box.value = before;
    for (const tab of tabs.children) {
      const here = tab.dataset.slug === mode;
      tab.setAttribute('aria-selected', String(here));
      tab.tabIndex = here ? 0 : -1;
    }
    hint.textContent = MODES.find(({ slug }) => slug === mode).hint;
    root.firstElementChild.dataset.mode = mode;
    box.hidden = mode === 'query';
    folder.hidden = mode === 'query';
    asking.hidden = mode !== 'query';
    preview.hidden = mode === 'query';
    side.setAttribute('aria-labelledby', `find-${mode}`);
  }

  function words(found) {
    const took = `${found.took_ms < 10 ? found.took_ms.toLocaleString('en', { maximumFractionDigits: 1 }) : Math.round(found.took_ms)} ms`;
    if (found.table) return `${count(found.total, 'row')} · ${took}`;
    if (!found.total && !state.rows.length) return `Nothing found · ${took}`;
    if (state.mode === 'exact') return `${found.total.toLocaleString('en')} in ${count(found.notes ?? 0, 'note')} · ${took}`;
    return `${count(Math.max(found.total, state.rows.length), 'note')} · ${took}`;
  }

  function nothing(text) {
    if (!text) return fill(list, h('li.empty', h('p', 'Type, and results come as you go.'), h('p.small', 'Arrow keys walk through them, Enter opens.')));
    const other = MODES.filter(({ slug }) => slug !== state.mode && slug !== 'query');
    return fill(list, h('li.empty', h('p', 'Nothing found.'), h('p.small', 'Try fewer words, or look another way: ', other.map(({ slug, name }) => h('button.small.quiet', { type: 'button', onclick: () => { choose(slug); look(); } }, name)))));
  }

  async function look({ further = false } = {}) {
    abort.abort();
    abort = new AbortController();
    const mine = abort;
    const text = field().value;
    const place = new URLSearchParams({ ...(text && { q: text }), ...(state.mode !== 'ranked' && { mode: state.mode }), ...(folder.value && { folder: folder.value }) });
    history.replaceState(null, '', `#/find${place.size ? `?${place}` : ''}`);
    clearTimeout(slow);
    if (!text.trim()) {
      status.textContent = '';
      more.hidden = true;
      return nothing('');
    }
    slow = setTimeout(() => { status.textContent = notes ? `Searching ${count(notes, 'note')}…` : 'Searching…'; }, 200);
    try {
      const found = await post('/api/find', { text, mode: state.mode, folder: folder.value.trim() || undefined, limit: PAGE, offset: further ? state.rows.length : 0 }, { signal: mine.signal });
      if (mine.signal.aborted) return undefined;
      clearTimeout(slow);
      state.rows = further ? [...state.rows, ...found.rows] : found.rows;
      status.textContent = words(found);
      const fixed = (found.corrected ?? []).map(([word, instead]) => ` Nobody wrote “${word}”; looked for ${instead.join(', ')}.`).join('');
      if (found.caution || fixed) status.append(h('span.muted', `${found.caution ? ` · ${found.caution}` : ''}${fixed}`));
      more.hidden = !found.more;
      if (found.table) return fill(list, h('li', tableView(found.table)));
      if (!state.rows.length) return nothing(text);
      showResults(list, state.rows, text, state.mode);
    } catch (problem) {
      if (problem.name === 'AbortError') return undefined;
      clearTimeout(slow);
      more.hidden = true;
      status.textContent = '';
      fill(list, h('li', h('div.note-box.warn', h('pre.find-problem', problem.message), problem.hint && h('p.muted', problem.hint))));
    }
    return undefined;
  }

  /* The preview: the note under the focus, where there is room for it. */
  let shown = '';
  const peek = later(120, async (link) => {
    if (getComputedStyle(preview).display === 'none') return;
    const { path, mark } = link.dataset;
    if (shown !== path) {
      const note = await get('/api/note', { path }).catch(() => null);
      if (!note || document.activeElement !== link) return;
      shown = path;
      const body = h('div.prose');
      fill(preview, h('h2', h('a', { href: pageOf(path) }, note.name)), body);
      if (note.html) setMarkup(body, note.html);
      else body.append(h('p.muted', 'This file is not a note.'));
      for (const tick of body.querySelectorAll('input')) tick.disabled = true;
      for (const element of body.querySelectorAll('[id]')) element.removeAttribute('id');
    }
    preview.scrollTop = 0;
    if (mark) showFound(preview.querySelector('.prose'), mark);
  });
  list.addEventListener('focusin', (event) => { if (event.target.dataset?.path) peek(event.target); });

  const soon = later(140, () => look());
  box.addEventListener('input', soon);
  folder.addEventListener('input', soon);
  area.addEventListener('input', later(700, () => look()));
  area.addEventListener('keydown', (event) => { if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) { event.preventDefault(); look(); } });
  tabs.addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const at = MODES.findIndex(({ slug }) => slug === state.mode);
    const next = MODES[(at + step + MODES.length) % MODES.length].slug;
    choose(next);
    tabs.querySelector(`[data-slug="${next}"]`).focus();
    look();
  });
  walk(box, list);

  choose(state.mode);
  field().focus();
  look();
  get('/api/about').then((about) => { notes = about.notes; }, () => {});
  get('/api/tree').then((branch) => fill(folders, branch.folders.map(({ path }) => h('option', { value: path }))), () => {});
  let beat = null;
  const stop = live.on('pulse', (pulse) => {
    // Whoever walks through the results, or asked for more of them, keeps what is shown.
    const reads = list.contains(document.activeElement) || state.rows.length > PAGE;
    if (beat !== null && pulse.notes !== beat && field().value.trim() && !reads) look();
    beat = pulse.notes;
  });
  return () => {
    abort.abort();
    clearTimeout(slow);
    globalThis.CSS?.highlights?.delete('found');
    stop();
  };
}
