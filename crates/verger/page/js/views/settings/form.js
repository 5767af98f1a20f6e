// What the sections share: fields with their words, checking while one types, and saving with what will change shown first.
import { fill, h, later } from '../../dom.js';
import { post } from '../../api.js';
import { openDialog } from '../../dialog.js';
import { toast, trouble } from '../../toast.js';
import * as diffs from '../../diff.js';

/** A part of a section. */
export const part = (title, about, ...children) => h('section.settings-part', h('h2', title), about && h('p.muted', about), children);

/** What differs, as the shared view shows it, or plainly. */
export function difference(file) {
  if (diffs.diffView) return diffs.diffView(file);
  const rows = file.diff.split('\n').filter((line) => line && !line.startsWith('---') && !line.startsWith('+++'));
  const kind = { '+': 'added', '-': 'removed', '@': 'gap' };
  return h('div.diff', h('table', h('tbody', rows.map((line) => h(`tr${kind[line[0]] ? `.${kind[line[0]]}` : ''}`, h('td.sign', line.startsWith('@') ? '' : line[0]), h('td', line.startsWith('@') ? '…' : line.slice(1)))))));
}

/** Shows what config.toml would become and saves it after a yes. Resolves with whether it was saved. */
export async function save(settings, draw) {
  try {
    const { shown } = await post('/api/settings/save', { settings });
    if (shown.same) {
      toast('It says so already; nothing was changed.');
      return true;
    }
    const yes = await openDialog({ title: 'Save this?', className: 'wide', make: (close) => [
      h('div.dialog-body', h('p', 'This is what changes in config.toml. It holds at once, and can be taken back.'), shown.files.map(difference)),
      h('footer.dialog-foot', h('button.quiet', { type: 'button', onclick: () => close(false) }, 'Cancel'), h('button.main', { type: 'button', autofocus: true, onclick: () => close(true) }, 'Save')),
    ] });
    if (!yes) return false;
    const { done } = await post('/api/settings/save', { settings, saw: shown.saw });
    saved(done.word, draw);
    await draw();
    return true;
  } catch (problem) {
    trouble(problem);
    return false;
  }
}

/** Says that it was saved, with the way back. */
export function saved(word, draw, text = 'Saved. It holds from now on.') {
  toast(text, { action: { name: 'Undo', run: async () => {
    try {
      await post('/api/settings/undo', { word });
      toast('As it was before.');
      await draw();
    } catch (problem) {
      trouble(problem);
    }
  } } });
}

let ids = 0;

/** A field with its words. `kind` is text, number, yes, list (one a line) or a list of options. */
export function field({ path, label, help, kind = 'text', value, options, ...more }) {
  const id = `field-${(path ?? [label, ids += 1]).join('-').replace(/[^\w-]/g, '_')}`;
  let input;
  if (kind === 'yes') {
    input = h('input', { type: 'checkbox', id, checked: value === true });
    return Object.assign(h('div.field.yes', h('div.row', input, h('label', { for: id }, label)), help && h('small', help)), { input, path, kind, before: value === true, now: () => input.checked });
  }
  if (kind === 'select') input = h('select', { id }, options.map(([name, words]) => h('option', { value: name, selected: name === (value ?? '') }, words)));
  else if (kind === 'list') input = h('textarea', { id, rows: 3, value: (value ?? []).join('\n'), spellcheck: 'false', ...more });
  else input = h('input', { id, type: kind === 'number' ? 'number' : 'text', value: value ?? '', autocomplete: 'off', spellcheck: 'false', ...more });
  const now = () => {
    const text = input.value.trim();
    if (kind === 'list') { const lines = input.value.split('\n').map((line) => line.trim()).filter(Boolean); return lines.length ? lines : null; }
    if (!text) return null;
    return kind === 'number' ? Number(text) : text;
  };
  const box = h('div.field', h('label', { for: id }, h('strong', label)), input, help && h('small', help));
  return Object.assign(box, { input, path, kind, before: kind === 'list' ? value ?? null : value ?? null, now });
}

const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

/** The settings that differ from what is written. */
export const changes = (fields) => fields.filter((one) => !same(one.now(), one.before)).map((one) => ({ path: one.path, value: one.kind === 'yes' ? one.now() : one.now() }));

/** A form of fields of config.toml: checked while one types, saved with a look at what changes. */
export function settingsForm(fields, draw, words = 'Save…') {
  const said = h('p.form-said', { role: 'status' });
  const button = h('button.main', { type: 'submit', disabled: true }, words);
  const check = later(350, async () => {
    const wanted = changes(fields);
    if (!wanted.length) return;
    try {
      await post('/api/settings/save', { settings: wanted });
      if (!same(wanted, changes(fields))) return;
      fill(said, wanted.length === 1 ? 'One setting would change.' : `${wanted.length} settings would change.`);
      said.className = 'form-said muted';
      button.disabled = false;
    } catch (problem) {
      fill(said, problem.message, problem.hint && h('span.muted', ` ${problem.hint}`));
      said.className = 'form-said bad';
      button.disabled = true;
    }
  });
  const form = h('form', { oninput: () => { button.disabled = !changes(fields).length; fill(said); check(); }, onsubmit: async (event) => {
    event.preventDefault();
    const wanted = changes(fields);
    if (wanted.length) await save(wanted, draw);
  } }, fields, h('div.row', button, said));
  return form;
}

/** A button that works and says so. */
export function doing(words, busy, run, className = '') {
  const button = h(`button${className}`, { type: 'button', onclick: async () => {
    const kept = [...button.childNodes];
    button.disabled = true;
    fill(button, busy);
    try {
      await run(button);
    } catch (problem) {
      trouble(problem);
    } finally {
      button.disabled = false;
      fill(button, kept);
    }
  } }, words);
  return button;
}

/** The path of a setting in what is written. */
export const written = (settings, path) => path.reduce((table, name) => table?.[name], settings.written);

/** What a key of config.toml means. */
export const meaning = (settings, name) => settings.keys.find((key) => key.name === name)?.meaning.replaceAll('`', '');
