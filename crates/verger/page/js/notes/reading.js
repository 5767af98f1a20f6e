// The note in the middle: its head, its text, its tasks.
import { ago, count, fill, h, icon } from '../dom.js';
import { post } from '../api.js';
import { setMarkup } from '../markup.js';
import { toast, trouble } from '../toast.js';
import { folderOf, pageOf } from './address.js';
import { tableView } from '../find/table.js';

async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    toast(`${what} copied`);
  } catch {
    toast('The browser did not allow it', { hint: text, kind: 'bad' });
  }
}

function head(note) {
  const isNote = note.kind === 'note';
  const folder = folderOf(note.path);
  const facts = [isNote && count(note.words, 'word'), `changed ${ago(note.modified_ms)}`, !isNote && `${(note.bytes / 1024).toLocaleString('en', { maximumFractionDigits: 1 })} KB`];
  return h('header.reading-head',
    folder && h('p.crumbs.muted.small', folder.split('/').join(' / ')),
    h('h1', note.name),
    h('div.row.spread', h('p.muted.small', facts.filter(Boolean).join(' · ')),
      h('div.reading-actions',
        isNote && h('a.button.small', { href: `#/chat?note=${encodeURIComponent(note.path)}` }, icon('chat'), 'Ask about this note'),
        h('a.button.small', { href: `#/changes?path=${encodeURIComponent(note.path)}` }, icon('changes'), 'History'),
        h('a.button.small', { href: note.obsidian }, icon('open'), 'Open in Obsidian'),
        isNote && h('button.small', { type: 'button', onclick: () => copy(`[[${note.name}]]`, 'Link') }, icon('link'), 'Copy link'),
        h('button.small', { type: 'button', onclick: () => copy(note.path, 'Path') }, icon('copy'), 'Copy path'))));
}

function other(note) {
  if (note.kind === 'image') return h('p', h('img', { src: note.bytes_at, alt: note.name }));
  if (note.kind === 'audio') return h('audio', { src: note.bytes_at, controls: true });
  if (note.kind === 'video') return h('video', { src: note.bytes_at, controls: true });
  if (note.kind === 'pdf') return h('p', h('a.button.main', { href: note.bytes_at, target: '_blank', rel: 'noopener' }, icon('open'), 'Open the PDF'));
  if (note.kind === 'base' && note.table?.problem) return h('div.note-box.warn', h('p', note.table.problem));
  if (note.kind === 'base') return tableView(note.table);
  const what = note.kind === 'canvas' ? 'A canvas is drawn by Obsidian; its cards are found by Find.' : 'This kind of file is not shown here.';
  return h('div', h('p.muted', what), h('p.row', h('a.button', { href: note.bytes_at, download: note.name }, 'Save the file')));
}

/** A Dataview query that stands in a note is asked when the person wants it. */
function askable(card, note) {
  const code = card.querySelector('code.language-dataview');
  if (!code) return;
  const place = h('div.code-card-result');
  const ask = async () => {
    button.disabled = true;
    try {
      const found = await post('/api/find', { text: code.textContent, mode: 'query', this: note.path });
      fill(place, tableView(found.table));
    } catch (problem) {
      fill(place, h('div.note-box.warn', h('pre.find-problem', problem.message), problem.hint && h('p.muted', problem.hint)));
    }
    button.disabled = false;
  };
  const button = h('button.small', { type: 'button', onclick: ask }, 'Show the result');
  card.querySelector('figcaption').append(button);
  card.append(place);
}

/** Fills the article. `onTicked(version)` hears that a task was ticked. */
export function showNote(article, note, { onTicked, onStale }) {
  const body = h('div.prose');
  fill(article, head(note), body);
  if (note.kind !== 'note') {
    body.append(other(note));
    return body;
  }
  if (note.html.trim()) setMarkup(body, note.html);
  else body.append(h('p.muted', 'This note is empty. Write in your editor, or ask for a first draft.'));
  // The name stands above already.
  const first = body.firstElementChild;
  if (first?.tagName === 'H1' && first.textContent.trim() === note.name) first.hidden = true;
  for (const card of body.querySelectorAll('.code-card')) askable(card, note);
  for (const box of body.querySelectorAll('input[data-line]')) {
    box.setAttribute('aria-label', box.closest('li')?.textContent.trim().slice(0, 120) || 'Task');
    box.addEventListener('change', () => tick(note, box, body, { onTicked, onStale }));
  }
  return body;
}

async function tick(note, box, body, { onTicked, onStale }) {
  const boxes = [...body.querySelectorAll('input[data-line]')];
  const wanted = box.checked;
  for (const other of boxes) other.disabled = true;
  const send = (extra) => post('/api/task', { path: note.path, line: Number(box.dataset.line), version: note.version, ...extra });
  try {
    const { done } = await send({ done: wanted });
    note.version = done.version ?? note.version;
    box.closest('li')?.classList.toggle('task-done', wanted);
    const back = async () => {
      try {
        const taken = await send({ done: done.before === 'x' || done.before === 'X', mark: done.before });
        note.version = taken.done.version ?? note.version;
        onStale();
      } catch (problem) {
        trouble(problem);
        onStale();
      }
    };
    toast(wanted ? 'Task done' : 'Task open again', { action: { name: 'Undo', run: back } });
    onTicked(note.version);
  } catch (problem) {
    box.checked = !wanted;
    trouble(problem);
    onStale();
  } finally {
    for (const other of boxes) other.disabled = false;
    box.focus({ preventScroll: true });
  }
}

/** Shows the first place where these words stand, without touching the text. */
export function showFound(body, words) {
  const low = words.toLowerCase();
  const walker = document.createTreeWalker(body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const at = node.data.toLowerCase().indexOf(low);
    if (at < 0) continue;
    const range = document.createRange();
    range.setStart(node, at);
    range.setEnd(node, Math.min(at + words.length, node.length));
    globalThis.CSS?.highlights?.set('found', new Highlight(range));
    node.parentElement.closest('details')?.setAttribute('open', '');
    node.parentElement.scrollIntoView({ block: 'center' });
    return true;
  }
  return false;
}

/** Where nothing is: what one can do now. */
export function showMissing(article, path, problem) {
  const name = path.split('/').at(-1).replace(/\.md$/, '');
  fill(article, h('div.empty', h('h1', 'There is no note here'), h('p', problem.message), problem.hint && h('p.muted', problem.hint),
    h('p.row.centred', h('a.button.main', { href: `#/find?q=${encodeURIComponent(name)}` }, icon('find'), `Find “${name}”`),
      h('a.button', { href: pageOf('') }, 'All notes'))));
}
