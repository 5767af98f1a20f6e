// Completion while typing: `/` commands and `@` notes, in a list that the keyboard and screen readers know.
import { fill, h, icon, later } from '../dom.js';
import { post } from '../api.js';

const COMMAND = /^\/([\w-]*)$/;
const NOTE = /(?:^|[\s(])@(?:\[\[([^\]\n]{1,80})|([^\s@[\]"]{1,60}))$/u;
const MOST = 8;
const MOST_COMMANDS = 40;

/**
 * Completion for a text area. `commands()` gives [{name, arguments, help, kind}].
 * `keydown(event)` returns true where the list took the key.
 */
export function completion(field, commands) {
  const list = h('ul.complete', { role: 'listbox', id: 'composer-complete', 'aria-label': 'What fits', hidden: true });
  const told = h('span.visually-hidden', { role: 'status' });
  let rows = [];
  let at = 0;
  let abort = null;
  let asked = null;
  const close = () => {
    rows = [];
    asked = null;
    list.hidden = true;
    told.textContent = '';
    field.removeAttribute('aria-activedescendant');
  };
  const take = (row) => {
    const { start, text } = row;
    field.setRangeText(text, start, field.selectionStart, 'end');
    close();
    field.focus();
    field.dispatchEvent(new Event('input', { bubbles: true }));
  };
  const draw = () => {
    list.hidden = !rows.length;
    if (!rows.length) return close();
    fill(list, rows.map((row, index) => h('li', {
      role: 'option', id: `complete-${index}`, 'aria-selected': String(index === at),
      onmousedown: (event) => { event.preventDefault(); take(row); },
    }, icon(row.icon), h('span.complete-name', row.name), row.hint && h('span.small.muted.clip', row.hint))));
    field.setAttribute('aria-activedescendant', `complete-${at}`);
    list.children[at]?.scrollIntoView({ block: 'nearest' });
    return undefined;
  };
  const offer = (found) => {
    rows = found.slice(0, MOST_COMMANDS);
    at = 0;
    draw();
    if (rows.length) told.textContent = `${rows.length} fit; arrows choose, Enter takes`;
  };
  const lookUp = later(90, async (text, start) => {
    abort?.abort();
    abort = new AbortController();
    const found = await post('/api/names', { text, limit: MOST }, { signal: abort.signal }).catch(() => null);
    if (!found || asked !== text) return;
    offer(found.names.map((note) => ({ name: note.name, hint: note.folder || note.path, icon: 'notes', start, text: mention(note.path) })));
  });
  const typed = () => {
    const before = field.value.slice(0, field.selectionStart);
    const command = COMMAND.exec(before);
    if (command) {
      asked = null;
      const word = command[1].toLowerCase();
      const ranked = commands().filter((known) => known.name.toLowerCase().includes(word)).sort((a, b) => Number(b.name.startsWith(word)) - Number(a.name.startsWith(word)));
      return offer(ranked.map((known) => ({
        name: `/${known.name}${known.arguments ? ` ${known.arguments}` : ''}`, hint: known.help, icon: known.kind === 'skill' ? 'think' : known.kind === 'workflow' ? 'changes' : 'tool', start: 0, text: `/${known.name} `,
      })));
    }
    const note = NOTE.exec(before);
    if (!note) return close();
    const text = note[1] ?? note[2];
    asked = text;
    return lookUp(text, before.lastIndexOf('@'));
  };
  const keydown = (event) => {
    if (!rows.length || event.isComposing) return false;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    // A command that is typed out in full is meant: Enter then runs it.
    const full = event.key === 'Enter' && field.value.trim() === rows[at].text.trim();
    if (step) { at = (at + step + rows.length) % rows.length; draw(); }
    else if (event.key === 'Escape') close();
    else if ((event.key === 'Enter' && !event.shiftKey && !full) || (event.key === 'Tab' && !event.shiftKey)) take(rows[at]);
    else return false;
    event.preventDefault();
    event.stopPropagation();
    return true;
  };
  field.addEventListener('input', typed);
  field.addEventListener('blur', close);
  for (const [name, value] of [['aria-autocomplete', 'list'], ['aria-haspopup', 'listbox'], ['aria-controls', 'composer-complete']]) field.setAttribute(name, value);
  return { elements: [list, told], keydown, close };
}

/** How a note is mentioned; by its path, so that two notes of one name are told apart. */
export function mention(path) {
  const name = path.replace(/\.md$/, '');
  return /[\][|#]/.test(name) ? `@"${name}" ` : `@[[${name}]] `;
}
