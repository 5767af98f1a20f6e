// The list of what was found: notes with their lines, walked through by arrow keys.
import { fill, h } from '../dom.js';
import { setMarkup } from '../markup.js';
import { folderOf, pageOf } from '../notes/address.js';

/** Rows that stand in the same note come together. */
function grouped(rows) {
  const groups = [];
  for (const row of rows) {
    const last = groups.at(-1);
    if (last?.path === row.path) last.lines.push(...row.lines);
    else groups.push({ ...row, lines: [...row.lines] });
  }
  return groups;
}

function line(group, found, mark) {
  const text = setMarkup(h('span'), found.html);
  const words = mark(text);
  return h('a.hit', { href: pageOf(group.path, { mark: words }), dataset: { path: group.path, mark: words } },
    found.line !== undefined && h('span.hit-line.number', { title: `line ${found.line}` }, String(found.line)), text);
}

/** Shows what was found. `query` is what was looked for, so that a note opens where it stands. */
export function showResults(list, rows, query, mode) {
  const mark = (text) => (mode === 'exact' ? query.trim() : text.querySelector('mark')?.textContent ?? '');
  fill(list, grouped(rows).map((group) => {
    const folder = folderOf(group.path);
    const heading = [folder, group.heading].filter(Boolean).join(' · ');
    return h('li.found', h('a.found-name', { href: pageOf(group.path), dataset: { path: group.path } }, h('span', group.name), heading && h('span.muted.small.clip', heading)),
      group.lines.length ? group.lines.slice(0, 8).map((found) => line(group, found, mark)) : group.html && setMarkup(h('p.found-text.small.muted'), group.html),
      group.lines.length > 8 && h('p.muted.small.found-text', `and ${group.lines.length - 8} more lines`));
  }));
}

/** Arrow keys go from the box into the list and through it; typing goes back to the box. */
export function walk(box, list) {
  const links = () => [...list.querySelectorAll('a')];
  box.addEventListener('keydown', (event) => {
    if (event.isComposing || box.tagName === 'TEXTAREA') return;
    const [first] = links();
    if (event.key === 'ArrowDown' && first) {
      event.preventDefault();
      first.focus();
    } else if (event.key === 'Enter' && first) {
      event.preventDefault();
      first.click();
    }
  });
  list.addEventListener('keydown', (event) => {
    const all = links();
    const at = all.indexOf(document.activeElement);
    const to = { ArrowDown: all[at + 1], ArrowUp: all[at - 1] ?? box, Home: all[0], End: all.at(-1) };
    if (event.key in to) {
      event.preventDefault();
      to[event.key]?.focus();
      to[event.key]?.scrollIntoView({ block: 'nearest' });
    } else if (event.key.length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey) box.focus();
  });
}
