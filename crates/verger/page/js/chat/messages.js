// What was said: the person's messages and the model's answers.
import { fill, h, icon } from '../dom.js';
import { trouble, toast } from '../toast.js';
import { growText, morphMarkup } from './morph.js';

/** Copies text and says so. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    toast('Copied');
  } catch {
    trouble({ message: 'The browser does not let this page copy', hint: 'Select the text and copy it by hand.' });
  }
}

const action = (name, sign, run, className = '') => h(`button.quiet.small${className}`, { type: 'button', title: name, onclick: run }, icon(sign), h('span', name));

/** A message of the person. */
export function userMessage(item, act) {
  const bubble = h('div.bubble');
  const files = h('ul.attached');
  const actions = h('div.actions',
    action('Copy', 'copy', () => copy(now.text)),
    action('Edit', 'edit', () => edit(), '.edit'),
    action('Branch', 'fork', () => act.fork(now)));
  const element = h('article.message.user', h('h3.visually-hidden', 'You'), files, bubble, actions);
  let now = item;
  const edit = () => {
    const field = h('textarea', { rows: '3', 'aria-label': 'Your message, to be sent anew', value: now.text });
    const done = () => { form.remove(); element.classList.remove('editing'); actions.querySelector('.edit').focus(); };
    const send = async () => {
      if (!field.value.trim()) return;
      form.querySelectorAll('button').forEach((button) => { button.disabled = true; });
      await act.resend(now, field.value).catch(trouble);
      done();
    };
    const form = h('div.edit-message', field,
      h('p.small.muted', 'The conversation goes on from here in a copy; this one stays as it is.'),
      h('div.row', h('button.main.small', { type: 'button', onclick: send }, 'Send anew'), h('button.quiet.small', { type: 'button', onclick: done }, 'Cancel')));
    field.addEventListener('keydown', (event) => {
      if (event.key === 'Escape') done();
      else if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) { event.preventDefault(); send(); }
    });
    element.classList.add('editing');
    element.append(form);
    field.focus();
    field.setSelectionRange(field.value.length, field.value.length);
  };
  const update = (next) => {
    now = next;
    if (next.html) morphMarkup(bubble, next.html);
    else growText(bubble, next.text);
    bubble.classList.toggle('plain', !next.html);
    fill(files, (next.attachments ?? []).map((file) => h('li.chip', icon(file.media_type?.startsWith('image/') ? 'notes' : 'file'), file.name)));
    files.hidden = !next.attachments?.length;
    // What was said in the middle of a turn cannot be said otherwise: it has no place of its own to begin from.
    actions.querySelector('.edit').hidden = next.step === null || next.step === undefined;
  };
  update(item);
  return { element, update };
}

/** An answer of the model. */
export function answerMessage(item, act) {
  const body = h('div.markdown');
  const actions = h('div.actions',
    action('Copy', 'copy', () => copy(now.text)),
    action('Retry', 'retry', () => act.retry(), '.only-last'),
    action('Branch', 'fork', () => act.fork(now)),
    h('span.small.muted.by'));
  const element = h('article.message.answer', h('h3.visually-hidden', 'Answer'), body, actions);
  let now = item;
  const update = (next) => {
    now = next;
    for (const button of body.querySelectorAll('button.copy-code')) button.remove();
    if (next.html) morphMarkup(body, next.html);
    else growText(body, next.text);
    element.classList.toggle('streaming', !next.done);
    element.classList.toggle('blank', !next.text?.trim());
    actions.hidden = !next.done;
    growText(actions.querySelector('.by'), next.model ?? '');
    if (next.done) for (const block of body.querySelectorAll('pre')) finishCode(block);
  };
  update(item);
  return { element, update };
}

/** Code can be copied, and be scrolled with the keyboard. */
function finishCode(block) {
  const text = block.textContent;
  block.tabIndex = 0;
  block.append(h('button.copy-code.quiet.small', { type: 'button', 'aria-label': 'Copy this code', onclick: () => copy(text) }, icon('copy')));
}

/** What the model thought, folded. */
export function thinking(item) {
  const text = h('div.thinking-text');
  const words = h('span', '');
  const element = h('details.thinking', h('summary', icon('think'), words, icon('right')), text);
  const update = (next) => {
    growText(text, next.text ?? '');
    growText(words, next.done ? 'Thought about it' : 'Thinking…');
    element.classList.toggle('live', !next.done);
  };
  update(item);
  return { element, update };
}
