// What was done: calls of tools, children, notices, and how a turn ended.
import { pageOf } from '../notes/address.js';
import { count, fill, h, icon } from '../dom.js';
import { growText } from './morph.js';

const SIGNS = [
  [/todo|plan/, 'check'], [/web|fetch|url|http/, 'open'], [/search|find|query|list|grep|lookup/, 'find'], [/delete|trash|remove/, 'trash'], [/move|rename|folder/, 'folder'],
  [/write|edit|append|update|replace|create|insert|patch|frontmatter|tag/, 'edit'], [/read|note|file|open/, 'notes'],
  [/link|graph/, 'graph'], [/undo|restore|checkpoint/, 'undo'], [/ask/, 'chat'],
];
const sign = (tool = '') => SIGNS.find(([words]) => words.test(tool))?.[1] ?? 'tool';

const STATES = {
  named: ['preparing…', 'live'], running: ['working…', 'live'], waiting: ['waits for you', 'warn'], done: ['done', 'good'], failed: ['failed', 'bad'],
  denied: ['you said no', 'warn'], refused: ['refused', 'warn'], stopped: ['stopped', ''],
};

/** 12 ms, 1.8 s, 2 min. */
export function took(ms) {
  if (ms === null || ms === undefined) return '';
  if (ms < 1000) return `${Math.round(ms)} ms`;
  return ms < 90_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 60_000)} min`;
}

const ABOUT = ['query', 'pattern', 'path', 'source', 'note_path', 'name', 'question', 'message'];
/** What a call is called: words, where the server gave the tool's name. */
export function titleOfCall({ tool = '', title, input }) {
  const words = tool.replaceAll('_', ' ');
  const plain = words.charAt(0).toUpperCase() + words.slice(1);
  const about = ABOUT.map((key) => input?.[key]).find((value) => typeof value === 'string' && value.trim());
  if (!title || title === tool) return about ? `${plain}: ${about.slice(0, 120)}` : plain;
  return tool && title.startsWith(`${tool} `) ? `${plain}: ${title.slice(tool.length + 1)}` : title;
}

/** A call of a tool: one line that opens to what went in and what came out. */
export function callCard(item, act) {
  const face = h('span.call-icon');
  const title = h('span.call-title');
  const state = h('span.call-state');
  const time = h('span.call-time.number');
  const body = h('div.call-body');
  const details = h('details.call', h('summary', face, title, state, time, icon('right')), body);
  const below = h('div.call-below');
  const element = h('div.call-item', details, below);
  let now = item;
  let drawn = '';
  const drawBody = () => {
    const mark = JSON.stringify([now.input, now.text, now.cut]);
    if (!details.open || mark === drawn) return;
    drawn = mark;
    fill(body, h('p.small.muted', 'Tool ', h('code', now.tool)), inputList(now.input), result(now));
  };
  details.addEventListener('toggle', drawBody);
  const update = (next) => {
    now = next;
    const [words, tone] = STATES[next.state] ?? [next.state, ''];
    if (!face.firstChild) face.append(icon(sign(next.tool)));
    growText(title, titleOfCall(next));
    growText(state, words);
    state.className = `call-state ${tone}`;
    details.className = `call is-${next.state}`;
    growText(time, took(next.milliseconds));
    drawBelow(below, next, act);
    drawBody();
  };
  update(item);
  return { element, update };
}

/** The notes that were changed stand outside of the fold: they are what matters afterwards. */
function drawBelow(below, item, act) {
  const mark = JSON.stringify([item.changed, item.checkpoint, item.state === 'waiting' && item.question]);
  if (below.dataset.mark === mark) return;
  below.dataset.mark = mark;
  const shown = (item.changed ?? []).slice(0, 8);
  fill(below,
    item.state === 'waiting' && item.question && h('button.small.main', { type: 'button', onclick: () => act.answer(item.question) }, 'Look at it and answer'),
    shown.map((path) => h('a.chip.changed', { href: pageOf(path), title: path }, icon('edit'), path.split('/').pop().replace(/\.md$/, ''))),
    item.changed?.length > shown.length && h('span.small.muted', `and ${item.changed.length - shown.length} more`),
    item.checkpoint && [
      h('a.button.quiet.small', { href: `#/changes/${encodeURIComponent(item.checkpoint)}` }, icon('changes'), 'Show change'),
      h('button.quiet.small', { type: 'button', onclick: () => act.takeBack(item.checkpoint) }, icon('undo'), 'Take back'),
    ]);
  below.hidden = !below.childElementCount;
}

/** The input of a call as a list, long values folded by their box. */
export function inputList(input) {
  const entries = input && typeof input === 'object' && !Array.isArray(input) ? Object.entries(input) : [['input', input]];
  const given = entries.filter(([, value]) => value !== null && value !== undefined && value !== '');
  if (!given.length) return null;
  return h('dl.input-list', given.map(([name, value]) => {
    const text = inWords(value);
    const long = text.length > 80 || text.includes('\n');
    return [h('dt', name.replaceAll('_', ' ')), h('dd', long ? h('pre', { tabindex: '0', role: 'group', 'aria-label': name }, text) : h('code', text))];
  }));
}

/** A value for reading: texts as they are, lists of them line by line, the rest as JSON. */
export function inWords(value) {
  if (typeof value === 'string') return value;
  if (Array.isArray(value) && value.length && value.every((one) => typeof one === 'string' && !one.includes('\n'))) return value.join('\n');
  return JSON.stringify(value, null, 2) ?? '';
}

function result(item) {
  if (!item.text) return null;
  return [h('p.small.muted', item.state === 'done' ? 'What came back' : 'What was said'),
    h('pre.result', { tabindex: '0', role: 'group', 'aria-label': 'Result' }, item.text),
    item.cut && h('p.small.muted', 'Only the start is shown here; the model has read all of it.')];
}

const CHILD = { running: ['working…', 'live'], done: ['done', 'good'], failed: ['failed', 'bad'], stopped: ['stopped', ''], waiting: ['waits', 'warn'] };

/** A helper of the agent; what it does is shown inside. */
export function childCard(item) {
  const name = h('span.call-title');
  const state = h('span.call-state');
  const inside = h('div.child-items');
  const element = h('details.child', { open: item.state === 'running' }, h('summary', icon('fork'), name, state, icon('right')), inside);
  const update = (next) => {
    const [words, tone] = CHILD[next.state] ?? [next.state, ''];
    growText(name, next.agent ? `${next.name} (${next.agent})` : next.name);
    growText(state, words);
    state.className = `call-state ${tone}`;
  };
  update(item);
  return { element, update, inside };
}

/** Something that the person should know. */
export function notice(item) {
  const text = h('span');
  const element = h('p.notice', icon(item.tone === 'info' ? 'think' : 'warn'), text);
  const update = (next) => {
    growText(text, next.text);
    element.className = `notice ${next.tone ?? 'info'}`;
  };
  update(item);
  return { element, update };
}

/** How a turn ended, where it ended otherwise than with an answer. */
export function over(item) {
  const element = h('p.over');
  const update = (next) => {
    element.hidden = next.how === 'done' || !next.text;
    growText(element, next.text ?? '');
  };
  update(item);
  return { element, update };
}

/** What is to be done: pinned, not in the flow. */
export function todoList() {
  const words = h('span');
  const bar = h('progress', { max: '1', value: 0, 'aria-hidden': 'true' });
  const list = h('ol');
  const element = h('details.todo', { hidden: true, open: matchMedia('(min-width: 62rem)').matches }, h('summary', icon('check'), words, bar, icon('right')), list);
  const update = (item) => {
    const items = item?.items ?? [];
    element.hidden = !items.length;
    const done = items.filter((entry) => entry.state === 'done').length;
    const begun = items.find((entry) => entry.state === 'begun');
    growText(words, `${done} of ${count(items.length, 'step')} done${begun ? ` · now: ${begun.text}` : ''}`);
    bar.max = items.length || 1;
    bar.value = done;
    fill(list, items.map((entry) => h(`li.${entry.state}`, h('span.box', { 'aria-hidden': 'true' }, entry.state === 'done' && icon('check')),
      h('span', entry.text, h('span.visually-hidden', { open: ' (not begun)', begun: ' (begun)', done: ' (done)' }[entry.state] ?? '')))));
  };
  return { element, update };
}
