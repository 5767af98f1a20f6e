// One question as a dialog: everything that is needed to decide, from top to bottom, and the buttons.
import { h, icon } from '../dom.js';
import { inputList } from '../chat/cards.js';
import { diffList } from '../diff.js';
import { sentence as sentenceOf } from '../propose.js';
import { answerFields, argumentFields, showFault, tickRows } from './fields.js';
import { sentence, TITLES, yesWords } from './words.js';

const LEGS = [['private', 'has read private notes'], ['untrusted', 'has read text of others'], ['outgoing', 'something would leave this machine']];

/**
 * The dialog of a question: {show, close}. `send(answer)` sends it; `closed(answered)` is told once.
 */
export function askDialog(question, { send, closed }) {
  let answered = false;
  const opener = document.activeElement;
  const refresh = () => draw();
  const rows = question.rows?.length && ['reads', 'results'].includes(question.kind) ? tickRows(question, refresh) : null;
  const asked = question.kind === 'questions' ? answerFields(question, refresh) : null;
  const fields = rows || asked ? null : argumentFields(question, refresh);
  const edited = h('p.note-box.small', { hidden: true }, 'You changed the arguments. They are checked again, and you are asked once more with what would change then.');
  const fault = h('div.note-box.bad', { role: 'alert', hidden: true });
  const buttons = footer(question, { answer: (kind) => answer(kind), deny: (reason) => finish({ answer: 'deny', reason: reason || undefined }) });
  const title = TITLES[question.kind] ?? TITLES.approval;
  const box = h('dialog.dialog.wide.ask', { 'aria-labelledby': 'ask-title', 'aria-describedby': 'ask-sentence' },
    h('header.dialog-head', h('h2#ask-title', title), h('button.quiet.icon', { type: 'button', 'aria-label': 'Close, which is a no', title: 'Close, which is a no', onclick: () => box.close() }, icon('close'))),
    h('div.dialog-body', head(question), warning(question), fields?.element, rows?.element, rows && given(question), asked?.element, target(question),
      edited, question.files?.length > 0 && h('section.ask-diff', h('h3', 'What would change'), diffList(question.files))),
    fault, buttons.element);

  const finish = async (given) => {
    buttons.busy(true);
    showFault(fault, null);
    try {
      answered = true;
      await send(given);
      box.close();
    } catch (problem) {
      answered = false;
      showFault(fault, problem);
      buttons.busy(false);
      draw();
    }
  };
  const answer = (kind) => {
    if (rows && !rows.ticked().length) return finish({ answer: 'deny', reason: 'none was ticked' });
    return finish({ answer: kind, input: fields?.given(), paths: rows?.chosen(), answers: asked?.answers() });
  };
  const draw = () => {
    const changed = Boolean(fields?.isChanged());
    edited.hidden = !changed;
    box.classList.toggle('edited', changed);
    const wrong = fields?.fault() ?? asked?.fault() ?? null;
    buttons.draw({ wrong, words: yesWords(question, rows?.ticked().length), changed, some: Boolean(rows?.chosen()) });
  };
  box.addEventListener('close', () => {
    box.remove();
    if (opener?.isConnected) opener.focus({ preventScroll: true });
    closed(answered);
  });
  const show = () => {
    document.body.append(box);
    draw();
    box.showModal();
    buttons.first(Boolean(question.warning), asked).focus();
    box.querySelector('.dialog-body').scrollTop = 0;
  };
  return { show, close: () => { answered = true; box.close(); } };
}

function head(question) {
  const where = [question.chat_title && `in “${question.chat_title}”`, question.child && `by the helper ${question.child}`, question.agent && `as ${question.agent}`].filter(Boolean).join(', ');
  // What only names the tool again says nothing of what it is for.
  const purpose = question.about?.startsWith(question.tool) ? '' : question.about;
  return h('div.ask-head', h('p#ask-sentence.ask-sentence', `${sentence(question)}.`),
    h('p.ask-tool', h('span.chip', icon('tool'), question.tool), purpose && h('span.muted', purpose)),
    question.files?.length > 1 && question.summary && h('p.ask-summary', sentenceOf(question.summary)),
    where && h('p.small.muted', where));
}

function warning(question) {
  if (!question.warning) return null;
  const legs = LEGS.filter(([key]) => question.legs?.[key]);
  return h('div.note-box.warn.ask-warning', h('p', icon('warn'), ' ', h('strong', 'Look closely. '), question.warning),
    legs.length > 0 && h('ul.legs', { 'aria-label': 'What this conversation has met' }, legs.map(([, words]) => h('li.chip.warn', words))));
}

/** With rows to tick, the arguments are for whoever wants to know. */
function given(question) {
  const list = inputList(question.input);
  return list && h('details.raw-fold', h('summary', 'All arguments'), list);
}

function target(question) {
  return question.target && h('p.ask-target', 'It would reach ', h('code', question.target));
}

/** How long a question stands before it can be answered with yes, in milliseconds: what was meant for the one before does not count. */
const READ = 700;

/** The buttons. A rule is shown before it is saved, a no may carry a reason. */
function footer(question, { answer, deny }) {
  const may = (kind) => question.choices?.includes(kind);
  // A yes is for what was read: none that comes at once after the dialog, and no second click of a double one.
  const guard = (run) => (event) => { if (event.timeStamp - opened < READ || event.detail > 1) return; run(event); };
  let opened = performance.now();
  const yes = h('button.main', { type: 'button', onclick: guard(() => answer('once')) });
  const task = may('task') && h('button', { type: 'button', onclick: guard(() => answer('task')) }, 'Approve for this task');
  const always = (may('always') || may('session')) && h('button', { type: 'button', 'aria-expanded': 'false', onclick: () => unfold(rule, always) }, 'Always for…');
  const no = h('button.danger', { type: 'button', 'aria-expanded': 'false', onclick: () => { if (question.kind === 'questions') deny(''); else unfold(reason, no); } }, question.kind === 'questions' ? 'Do not answer' : 'Deny');
  const session = may('session') && h('button', { type: 'button', onclick: guard(() => answer('session')) }, 'In this conversation');
  const forever = may('always') && h('button.main', { type: 'button', onclick: guard(() => answer('always')) }, 'Save this rule and approve');
  const rule = h('div.ask-more', { hidden: true }, h('p', 'From then on this is approved without asking:'), h('p', h('code.rule', question.rule || question.tool)),
    h('p.small.muted', 'Rules are listed in the settings and can be revoked there. A warning is asked about all the same.'),
    h('div.row', forever, session, h('button.quiet', { type: 'button', onclick: () => unfold(null, always) }, 'Back')));
  const why = h('input', { type: 'text', maxlength: '2000', placeholder: 'For example: not in this note; use the journal' });
  const sayNo = () => deny(why.value.trim());
  why.addEventListener('keydown', (event) => { if (event.key === 'Enter' && !event.isComposing) { event.preventDefault(); sayNo(); } });
  const reason = h('div.ask-more', { hidden: true },
    h('label.field', h('span', 'Why not? (the model is told; may be left empty)'), why),
    h('div.row', h('button.danger', { type: 'button', onclick: sayNo }, 'Deny'), h('button.quiet', { type: 'button', onclick: () => unfold(null, no) }, 'Back')));
  const line = h('div.ask-buttons', no, h('span.grow'), always, task, yes);
  const unfold = (part, by) => {
    rule.hidden = part !== rule;
    reason.hidden = part !== reason;
    line.hidden = Boolean(part);
    for (const button of [always, no]) if (button) button.setAttribute('aria-expanded', String(button === by && Boolean(part)));
    if (part === reason) why.focus();
    else if (part === rule) (forever || session).focus();
    else by.focus();
  };
  const element = h('footer.dialog-foot.ask-foot', rule, reason, line);
  // A key that is held down repeats; none of its repetitions is an answer.
  element.addEventListener('keydown', (event) => { if (event.repeat && (event.key === 'Enter' || event.key === ' ')) event.preventDefault(); }, true);
  const all = () => element.querySelectorAll('button');
  return {
    element,
    busy: (is) => { for (const button of all()) button.disabled = is; },
    draw: ({ wrong, words, changed, some }) => {
      yes.textContent = changed ? `${words} as edited` : words;
      yes.disabled = Boolean(wrong);
      // A standing yes is for what was asked, not for what the person made of it.
      for (const button of [task, always]) if (button) button.disabled = Boolean(wrong) || changed || some;
    },
    first: (warned, asked) => {
      opened = performance.now();
      element.classList.add('fresh');
      setTimeout(() => element.classList.remove('fresh'), READ);
      return asked ? element.closest('dialog').querySelector('fieldset input, fieldset textarea') ?? yes : warned ? no : yes;
    },
  };
}
