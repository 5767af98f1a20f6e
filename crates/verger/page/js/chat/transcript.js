// The transcript: items by id, patched in place. It stays at its end while somebody is there, and nowhere else moves by itself.
import { h, icon } from '../dom.js';
import { answerMessage, thinking, userMessage } from './messages.js';
import { callCard, childCard, notice, over, titleOfCall, todoList } from './cards.js';

const MAKERS = { user: userMessage, answer: answerMessage, thinking, call: callCard, child: childCard, notice, over };
/** How near to the end counts as there. */
const NEAR = 80;

/** `act` carries out what the items offer: {resend, retry, fork, goOn, takeBack, answer}. */
export function transcript(act) {
  const parts = new Map();
  const flow = h('div.flow');
  const working = h('p.working', { hidden: true }, h('span.dots', { 'aria-hidden': 'true' }), h('span.working-words'), h('span.number.muted', { 'aria-hidden': 'true' }));
  const halfWay = h('div.note-box.half-way', { hidden: true }, h('p', 'This turn was left half way. What was done so far is kept.'),
    h('div.row', h('button.main.small', { type: 'button', onclick: () => act.goOn() }, icon('right'), 'Go on'),
      h('button.small', { type: 'button', onclick: () => act.retry() }, icon('retry'), 'Begin the turn anew')));
  const said = h('div.visually-hidden', { 'aria-live': 'polite' });
  const scroller = h('div.scroller', { tabindex: '0', role: 'region', 'aria-label': 'What was said' }, flow, working, halfWay);
  const jump = h('button.jump.small', { type: 'button', hidden: true, onclick: () => toEnd(true) }, icon('down'), 'Jump to the newest');
  const todo = todoList();
  const element = h('div.transcript', scroller, jump, said);

  let stuck = true;
  let touched = 0;
  const isNear = () => scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < NEAR;
  const toEnd = (byHand = false) => {
    scroller.scrollTop = scroller.scrollHeight;
    stuck = true;
    jump.hidden = true;
    if (byHand) scroller.focus({ preventScroll: true });
  };
  // Whoever turns the wheel upwards has left the end at once, even if the next piece of the answer comes in the same moment.
  scroller.addEventListener('wheel', (event) => { if (event.deltaY < 0) { stuck = false; touched = performance.now(); } }, { passive: true });
  scroller.addEventListener('scroll', () => {
    if (performance.now() - touched < 120) return;
    stuck = isNear();
    jump.hidden = stuck;
  }, { passive: true });
  const settle = () => {
    if (stuck) toEnd();
    else jump.hidden = isNear();
  };

  const place = (part, item) => {
    const box = item.parent ? parts.get(item.parent)?.inside ?? flow : flow;
    let before = box.lastElementChild;
    while (before && Number(before.dataset.at) > item.at) before = before.previousElementSibling;
    if (before) before.after(part.element);
    else box.prepend(part.element);
  };
  const upsert = (item) => {
    if (item.kind === 'todo') { todo.update(item); parts.set(item.id, { item }); return; }
    const known = parts.get(item.id);
    if (known) {
      if (known.item.kind === 'answer' && !known.item.done && item.done) announce(item);
      known.item = item;
      known.update(item);
      return;
    }
    const make = MAKERS[item.kind];
    if (!make) return;
    const part = { item, ...make(item, act) };
    part.element.dataset.at = item.at;
    part.element.dataset.item = item.id;
    part.element.dataset.kind = item.kind;
    parts.set(item.id, part);
    place(part, item);
  };
  const announce = (item) => { if (!item.parent) said.textContent = `Answer: ${item.text.slice(0, 2000)}`; };
  const markLast = () => {
    const answers = [...flow.children].filter((child) => child.classList.contains('answer'));
    answers.forEach((answer, at) => answer.classList.toggle('last', at === answers.length - 1));
  };

  /** Items that are new or changed. */
  const update = (items) => {
    for (const item of [...items].sort((a, b) => a.at - b.at)) upsert(item);
    markLast();
    settle();
  };
  /** All items: what is not among them goes, what is there is kept. */
  const replace = (items) => {
    const kept = new Set(items.map((item) => item.id));
    for (const [id, part] of parts) {
      if (kept.has(id)) continue;
      part.element?.remove();
      parts.delete(id);
    }
    if (!kept.has('todo')) todo.update(null);
    update(items);
  };

  let since = 0;
  let clock = null;
  const [words, seconds] = [working.querySelector('.working-words'), working.querySelector('.number')];
  const tick = () => {
    const passed = Math.round((Date.now() - since) / 1000);
    seconds.textContent = passed >= 2 ? `${passed} s` : '';
  };
  /** Says what goes on, in words; how long it takes is for the eyes only. */
  const state = ({ running, half_way: half, model }) => {
    working.hidden = !running;
    halfWay.hidden = running || !half;
    if (running && !clock) {
      since = Date.now();
      clock = setInterval(tick, 1000);
      tick();
    } else if (!running) {
      clearInterval(clock);
      clock = null;
    }
    if (running) {
      const next = doing(parts, model);
      if (words.textContent !== next) words.textContent = next;
    }
    settle();
  };
  const stop = () => clearInterval(clock);
  return { element, scroller, todo: todo.element, update, replace, state, stop, toEnd, settle, isEmpty: () => !parts.size };
}

function doing(parts, model) {
  const items = [...parts.values()].map((part) => part.item).filter((item) => item.kind !== 'todo');
  const call = items.findLast((item) => item.kind === 'call' && ['named', 'running', 'waiting'].includes(item.state));
  if (call?.state === 'waiting') return 'Waiting for your answer';
  if (call) return `${titleOfCall(call)}…`;
  const last = items.reduce((newest, item) => (newest && newest.at > item.at ? newest : item), null);
  if (last?.kind === 'answer' && !last.done) return 'Writing…';
  if (last?.kind === 'thinking' && !last.done) return 'Thinking…';
  return model ? `Waiting for ${model}…` : 'Waiting for the model…';
}
