// Where the person writes: grows with the text, keeps drafts, completes, attaches, sends and stops.
import { fill, h, icon } from '../dom.js';
import { trouble } from '../toast.js';
import { attachments } from './attach.js';
import { completion } from './complete.js';
import { meter } from './meter.js';

const draftKey = (id) => `draft:${id ?? 'new'}`;

/**
 * `act`: {say(text, files), stop(), order(name, rest) → true if it was one, choose({agent, model})}.
 * `commands()` gives what can be typed with a slash.
 */
export function composer({ choices, act, commands, grown }) {
  let id = null;
  let running = false;
  let sending = false;
  const field = h('textarea', { rows: '1', 'aria-label': 'Message', placeholder: 'Ask about your notes, or say what to do…', enterkeyhint: 'send' });
  const files = attachments(() => refresh());
  const complete = completion(field, commands);
  const used = meter();
  const agent = picker('Agent', choices.agents.map((one) => [one.slug, one.may_edit === false ? `${one.name} (only reads)` : one.name]), (value) => act.choose({ agent: value }));
  const model = picker('Model', choices.models.map((name) => [name, name]), (value) => act.choose({ model: value }));
  const stop = h('button.stop', { type: 'button', hidden: true, onclick: () => act.stop() }, icon('stop'), 'Stop');
  const send = h('button.main.send', { type: 'button', onclick: () => submit() }, icon('send'), h('span', 'Send'));
  const element = h('div.composer', { role: 'group', 'aria-label': 'Write' },
    complete.elements,
    h('div.composer-box', files.elements.list, field,
      h('div.composer-row', files.elements.button, files.elements.picker, agent.element, model.element, h('span.grow'), stop, send)),
    h('div.composer-foot', used.element, h('p.hint', h('kbd', 'Enter'), ' sends, ', h('kbd', 'Shift Enter'), ' new line, ', h('kbd', '/'), ' commands, ', h('kbd', '@'), ' notes')));

  const refresh = () => {
    stop.hidden = !running;
    send.disabled = sending || !(field.value.trim() || files.count());
    send.lastChild.textContent = running ? 'Add' : 'Send';
    send.title = running ? 'The model hears it at its next step' : 'Send this message';
    send.setAttribute('aria-label', running ? 'Add to the turn that runs' : 'Send');
  };
  const grow = () => {
    field.style.height = 'auto';
    field.style.height = `${Math.min(field.scrollHeight + 2, Math.round(innerHeight * 0.4))}px`;
    grown();
  };
  const keep = () => {
    if (field.value) sessionStorage.setItem(draftKey(id), field.value);
    else sessionStorage.removeItem(draftKey(id));
  };
  const submit = async () => {
    const text = field.value.trim();
    if (sending || !(text || files.count())) return;
    const [, name, rest] = /^\/([\w-]+)\s*([\s\S]*)$/.exec(text) ?? [];
    complete.close();
    sending = true;
    refresh();
    try {
      const done = name && (await act.order(name, rest));
      if (!done) await act.say(text, files.given());
      write('');
      if (!done) files.clear();
    } catch (problem) {
      trouble(problem);
    }
    sending = false;
    refresh();
  };
  const write = (text) => {
    field.value = text;
    keep();
    grow();
    refresh();
  };
  field.addEventListener('input', () => { keep(); grow(); refresh(); });
  field.addEventListener('keydown', (event) => {
    if (complete.keydown(event)) return;
    if (event.key === 'Enter' && !event.shiftKey && !event.isComposing && !event.ctrlKey && !event.altKey) {
      event.preventDefault();
      submit();
    }
  });
  field.addEventListener('paste', (event) => files.take(event, event.clipboardData));

  /** Files may be dropped anywhere on this element. */
  const dropOn = (zone) => {
    const carriesFiles = (event) => event.dataTransfer?.types.includes('Files');
    zone.addEventListener('dragover', (event) => { if (carriesFiles(event)) { event.preventDefault(); zone.classList.add('dropping'); } });
    zone.addEventListener('dragleave', (event) => { if (!zone.contains(event.relatedTarget)) zone.classList.remove('dropping'); });
    zone.addEventListener('drop', (event) => { zone.classList.remove('dropping'); files.take(event, event.dataTransfer); });
  };
  /** The conversation that is written to. The draft of the first message goes along when it gets its id. */
  const belongsTo = (next, { carry = false } = {}) => {
    if (carry) sessionStorage.removeItem(draftKey(id));
    id = next;
    if (carry) keep();
    else write(sessionStorage.getItem(draftKey(id)) ?? '');
  };
  const update = (talk) => {
    running = talk.running;
    agent.show(talk.agent);
    model.show(talk.model);
    used.update(talk.meter);
    refresh();
  };
  return { element, update, belongsTo, dropOn, write, focus: () => field.focus(), isTyping: () => document.activeElement === field };
}

/** A choice that stays small; what is set and no longer offered is shown all the same. */
function picker(label, options, chosen) {
  const list = h('select', { 'aria-label': label, title: label, onchange: () => chosen(list.value) });
  const show = (value) => {
    const all = value && !options.some(([known]) => known === value) ? [[value, value], ...options] : options;
    fill(list, all.map(([known, name]) => h('option', { value: known, selected: known === value }, name)));
  };
  show(null);
  return { element: h('span.picker', list), show };
}
