// The parts of a question that can be changed: arguments, rows to tick, answers to choose.
import { fill, h } from '../dom.js';
import { inWords } from '../chat/cards.js';

/**
 * All arguments. Those that make sense to edit are text areas, everything can be edited as JSON.
 * `given()` is the input if it was changed, else undefined; `fault()` says why it cannot be approved so.
 */
export function argumentFields(question, changed) {
  const input = question.input ?? {};
  const editable = new Set(question.editable ?? []);
  let now = structuredClone(input);
  let wrong = null;
  const areas = new Map();
  const raw = h('textarea.raw', { rows: '8', spellcheck: 'false', 'aria-label': 'All arguments as JSON', value: JSON.stringify(input, null, 2) });
  const said = h('p.small.wrong', { role: 'alert' });
  const tell = () => { said.textContent = fault() ?? ''; changed(); };
  const entry = ([name, value]) => {
    const words = name.replaceAll('_', ' ');
    if (editable.has(name) && (typeof value === 'string' || value === null || value === undefined)) {
      const area = h('textarea', { rows: String(Math.min(8, Math.max(1, Math.ceil((value ?? '').length / 60), (value ?? '').split('\n').length))), value: value ?? '' });
      area.addEventListener('input', () => {
        now = { ...now, [name]: area.value };
        wrong = null;
        raw.value = JSON.stringify(now, null, 2);
        tell();
      });
      areas.set(name, area);
      return h('label.field.argument', h('span', words), area);
    }
    const text = inWords(value);
    return h('div.argument', h('p.argument-name', words), text.length > 80 || text.includes('\n') ? h('pre', { tabindex: '0', role: 'group', 'aria-label': words }, text) : h('p', h('code', text)));
  };
  raw.addEventListener('input', () => {
    try {
      const read = JSON.parse(raw.value);
      if (read === null || typeof read !== 'object' || Array.isArray(read)) throw new Error('an object is needed');
      now = read;
      wrong = null;
      for (const [name, area] of areas) area.value = typeof read[name] === 'string' ? read[name] : '';
    } catch (error) {
      wrong = `This is not the JSON of an object yet: ${error.message}`;
    }
    tell();
  });
  const fault = () => {
    if (wrong) return wrong;
    const blank = [...areas].find(([name, area]) => !area.value.trim() && String(input[name] ?? '').trim());
    return blank ? `${blank[0].replaceAll('_', ' ')} must not be empty` : null;
  };
  const isChanged = () => JSON.stringify(now) !== JSON.stringify(input);
  const entries = Object.entries(input);
  const element = h('section.arguments', h('h3', 'What it would use'),
    entries.length ? entries.map(entry) : h('p.muted.small', 'Nothing: this tool was called without arguments.'),
    editable.size > 0 && h('details.raw-fold', h('summary', 'Edit everything as JSON'), raw), said);
  return { element, fault, isChanged, given: () => (isChanged() ? now : undefined) };
}

/** Rows with tick boxes. `ticked()` gives the paths; `chosen()` too, and nothing when all of them are ticked. */
export function tickRows(question, changed) {
  const boxes = question.rows.map((row) => h('input', { type: 'checkbox', checked: row.ticked !== false, onchange: () => tell() }));
  const told = h('p.small.muted', { role: 'status' });
  const ticked = () => question.rows.filter((_, at) => boxes[at].checked).map((row) => row.path);
  const tell = () => {
    told.textContent = `${ticked().length} of ${question.rows.length} ticked`;
    changed();
  };
  const all = (checked) => { for (const box of boxes) box.checked = checked; tell(); };
  const privacy = question.kind === 'reads' ? 'Unticked notes stay private: the model does not see them, and is told only that you left some out.' : 'Unticked rows stay private: the model does not see them.';
  const element = h('section.rows',
    h('div.row.spread', told, h('div.row', h('button.small', { type: 'button', onclick: () => all(true) }, 'Select all'), h('button.small', { type: 'button', onclick: () => all(false) }, 'Deselect all'))),
    h('ul.tick-rows', question.rows.map((row, at) => h('li', h('label', boxes[at], h('span.tick-words', h('span.tick-title', row.title || row.path), h('span.small.muted', row.path), row.excerpt && h('span.small.tick-excerpt', row.excerpt)))))),
    h('p.note-box.small', privacy));
  told.textContent = `${ticked().length} of ${question.rows.length} ticked`;
  const chosen = () => (ticked().length < question.rows.length ? ticked() : undefined);
  return { element, ticked, chosen };
}

/** Questions of the model. `answers()` gives one text for each; `fault()` says what is missing. */
export function answerFields(question, changed) {
  const parts = question.asked.map((asked, number) => answerField(asked, number, changed));
  const element = h('section.asked', parts.map((part) => part.element));
  return { element, answers: () => parts.map((part) => part.answer()), fault: () => (parts.some((part) => !part.answer()) ? 'Every question needs an answer' : null) };
}

function answerField(asked, number, changed) {
  const kind = asked.several ? 'checkbox' : 'radio';
  const boxes = asked.options.map((option) => h('input', { type: kind, name: `asked-${number}`, value: option, onchange: changed }));
  const open = asked.free_text || !asked.options.length;
  const field = open && h('textarea', { rows: asked.options.length ? '1' : '3', oninput: changed, 'aria-label': asked.options.length ? 'Your own answer' : asked.question, placeholder: asked.options.length ? 'Or in your own words…' : 'Your answer' });
  // Own words beside one choice replace it; beside several they are one more.
  if (field && !asked.several) {
    field.addEventListener('input', () => { if (field.value.trim()) for (const box of boxes) box.checked = false; });
    for (const box of boxes) box.addEventListener('change', () => { field.value = ''; });
  }
  const element = h('fieldset', h('legend', asked.header && h('span.chip', asked.header), ' ', asked.question),
    boxes.map((box) => h('label.choice', box, h('span', box.value))), field);
  const answer = () => [...boxes.filter((box) => box.checked).map((box) => box.value), field ? field.value.trim() : ''].filter(Boolean).join(', ');
  return { element, answer };
}

/** Fills a box with what went wrong. */
export function showFault(box, problem) {
  box.hidden = !problem;
  fill(box, problem && [h('p', problem.message), problem.hint && h('p.small', problem.hint)]);
}
