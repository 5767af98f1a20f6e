// Differences between two texts, unified and side by side, and a list of the files of a change.
import { add, count, fill, h, icon } from './dom.js';
import { linesOf, pairs, rowsOf, wordMarks } from './diff/lines.js';

/** More rows than this are shown when asked for. */
const AT_ONCE = 2000;
const narrow = matchMedia('(max-width: 44rem)');
const redraw = new WeakMap();
const MODES = [['unified', 'Unified'], ['split', 'Side by side']];

const mode = () => (localStorage.getItem('diff-mode') === 'split' ? 'split' : 'unified');
function choose(next) {
  localStorage.setItem('diff-mode', next);
  redrawAll();
}
const redrawAll = () => { for (const view of document.querySelectorAll('.diff-view')) redraw.get(view)?.(); };
narrow.addEventListener('change', redrawAll);

const KINDS = { create: 'new', replace: 'changed', delete: 'deleted', move: 'moved', folder: 'folder' };
const TONES = { create: '.good', delete: '.bad' };

/** The difference in one file, with a switch between unified and side by side. */
export function diffView(file) {
  const rows = rowsOf(file);
  const view = h('div.diff-view');
  if (!rows.length) return add(view, h('p.muted.small', nothingToShow(file)));
  const state = { all: rows.length <= AT_ONCE, opened: new Set() };
  const body = h('div.diff');
  const tabs = MODES.map(([value, name]) => h('button.quiet.small', { type: 'button', dataset: { mode: value }, onclick: () => choose(value) }, name));
  const draw = () => {
    const split = mode() === 'split' && !narrow.matches;
    for (const tab of tabs) tab.setAttribute('aria-pressed', String(tab.dataset.mode === (split ? 'split' : 'unified')));
    const shown = unfolded(state.all ? rows : rows.slice(0, AT_ONCE), file, state);
    fill(body, split ? splitTable(shown, file, open) : unifiedTable(shown, file, open));
    if (!state.all) body.append(h('p.diff-more', h('button.small', { type: 'button', onclick: () => { state.all = true; draw(); } }, `Show all ${count(rows.length, 'line')}`)));
  };
  const open = (gap) => {
    state.opened.add(gap.after);
    draw();
    body.querySelector(`tr[data-after="${gap.after}"]`)?.scrollIntoView({ block: 'nearest' });
  };
  add(view, [h('div.diff-modes', { role: 'group', 'aria-label': 'How the change is shown' }, tabs), body]);
  redraw.set(view, draw);
  draw();
  return view;
}

/** The files of a change with what was added and removed; one is shown. */
export function diffList(files) {
  if (!files?.length) return h('p.muted', 'No file is touched.');
  const shown = h('div.diff-shown');
  const show = (file) => fill(shown, files.length === 1 ? fileHead(file) : h('p.diff-path', named(file)), diffView(file), file.cut && h('p.muted.small', 'The rest is too long to show here.'));
  show(files[0]);
  if (files.length === 1) return h('div.diff-list.single', shown);
  const buttons = files.map((file, at) => h('button.quiet', {
    type: 'button', 'aria-current': at === 0 ? 'true' : undefined,
    onclick: (event) => {
      for (const button of buttons) button.removeAttribute('aria-current');
      event.currentTarget.setAttribute('aria-current', 'true');
      show(file);
    },
  }, fileHead(file)));
  const [added, removed] = ['added', 'removed'].map((what) => files.reduce((sum, file) => sum + (file[what] ?? 0), 0));
  return h('div.diff-list',
    h('div.diff-files', h('p.small.muted', `${count(files.length, 'file')}, ${added} added, ${removed} removed`), h('ul', buttons.map((button) => h('li', button)))),
    shown);
}

function fileHead(file) {
  const path = file.kind === 'move' ? file.to ?? file.path : file.path;
  const name = path.split('/').pop();
  const folder = path.slice(0, -name.length - 1);
  return h('span.diff-file',
    h('span.diff-name', h('span.diff-title', name.replace(/\.md$/, '')), folder && h('span.muted.small', folder)),
    h('span.diff-counts',
      h(`span.chip${TONES[file.kind] ?? ''}`, KINDS[file.kind] ?? file.kind),
      file.added > 0 && h('span.plus', { title: `${count(file.added, 'line')} added` }, `+${file.added}`),
      file.removed > 0 && h('span.minus', { title: `${count(file.removed, 'line')} removed` }, `−${file.removed}`)));
}

function named(file) {
  return file.to && file.to !== file.path ? `${file.path} → ${file.to}` : file.path;
}

function nothingToShow(file) {
  if (file.kind === 'folder') return `The folder ${file.path} is made.`;
  if (file.kind === 'move') return `${named(file)}: only its place changes, no text.`;
  if (file.kind === 'create' && file.after === '') return 'An empty note is made.';
  if (file.before === null && file.after === null) return 'No text to show: it is not text, or larger than 512 KiB.';
  return 'No line differs.';
}

/** Gaps that were opened, with the lines of the text in them. */
function unfolded(rows, file, { opened }) {
  const text = typeof file.after === 'string' ? file.after : file.before;
  if (typeof text !== 'string') return rows.map((row) => (row.kind === 'gap' ? { ...row, shut: true } : row));
  const lines = linesOf(text);
  return rows.flatMap((row) => {
    if (row.kind !== 'gap' || !opened.has(row.after)) return [row];
    const size = Math.min(row.lines, lines.length - row.after + 1);
    return Array.from({ length: size }, (_, at) => ({ kind: 'same', before: row.before + at, after: row.after + at, text: lines[row.after + at - 1] }));
  });
}

const SAID = { added: 'added', removed: 'removed', same: '' };
const SIGNS = { added: '+', removed: '−', same: '' };

/** What a screen reader is told besides the text: which line, and what happened to it. */
const said = (kind) => SAID[kind] && h('span.visually-hidden', `${SAID[kind]}: `);

function gapRow(row, columns, open) {
  const words = row.lines === null ? 'Unchanged lines' : `${count(row.lines, 'unchanged line')}`;
  return h('tr.gap', h('td', { colspan: columns }, row.shut ? words : h('button.quiet.small', { type: 'button', onclick: () => open(row) }, icon('down'), `Show ${words}`)));
}

function caption(file) {
  return h('caption.visually-hidden', `Change of ${named(file)}: ${count(file.added ?? 0, 'line')} added, ${count(file.removed ?? 0, 'line')} removed`);
}

const heads = (...names) => h('thead.visually-hidden', h('tr', names.map((name) => h('th', { scope: 'col' }, name))));

function unifiedTable(rows, file, open) {
  const marks = new Map();
  for (const { left, right } of pairs(rows)) {
    if (!left || !right || left === right) continue;
    const found = wordMarks(left.text, right.text);
    if (found) { marks.set(left, found.left); marks.set(right, found.right); }
  }
  return h('table.unified', caption(file), heads('Line before', 'Line after', 'What', 'Text'),
    h('tbody', rows.map((row) => (row.kind === 'gap' ? gapRow(row, 4, open)
      : h(`tr.${row.kind}`, { dataset: { after: row.after ?? '' } }, h('td.line', row.before ?? ''), h('td.line', row.after ?? ''),
        h('td.sign', h('span', { 'aria-hidden': 'true' }, SIGNS[row.kind])), h('td.text', said(row.kind), words(row.text, marks.get(row))))))));
}

function splitTable(rows, file, open) {
  const side = (row, number, marks) => (row
    ? [h(`td.line.${row.kind}`, row[number] ?? ''), h(`td.text.${row.kind}`, said(row.kind), words(row.text, marks))]
    : [h('td.line.none'), h('td.text.none')]);
  return h('table.split', caption(file), h('colgroup', h('col.line'), h('col'), h('col.line'), h('col')), heads('Line before', 'Before', 'Line after', 'After'),
    h('tbody', pairs(rows).map(({ left, right }) => {
      if (left?.kind === 'gap') return gapRow(left, 4, open);
      const marks = left && right && left !== right ? wordMarks(left.text, right.text) : null;
      return h('tr', { dataset: { after: right?.after ?? '' } }, side(left, 'before', marks?.left), side(right, 'after', marks?.right));
    })));
}

function words(text, marks) {
  if (!marks) return text;
  return marks.map(([part, marked]) => (marked ? h('span.word', part) : part));
}
