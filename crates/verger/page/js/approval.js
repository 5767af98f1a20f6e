// The queue of questions and the inbox. Questions of the conversation in view open by themselves, one at a time, oldest first;
// those of others wait in the inbox. What is gone on the server is gone here.
import { ago, fill, h, icon } from './dom.js';
import { get, post } from './api.js';
import * as live from './live.js';
import { offer } from './palette.js';
import { openDialog } from './dialog.js';
import { toast, trouble } from './toast.js';
import { askDialog } from './approval/ask.js';
import { sentence } from './approval/words.js';

/** Nobody shall answer by a key that was meant for a text: a dialog waits until typing has paused for so long. */
const PAUSE = 900;

let questions = [];
let chatInView = null;
/** The dialog that is open: {id, byHand, close}. */
let shown = null;
/** Questions that the person closed and whose answer did not get through; they do not open again by themselves. */
const setAside = new Set();
let typed = 0;
let later = null;
const button = document.getElementById('inbox-button');

/** Called once by the shell. */
export function begin() {
  live.on('questions', (news) => take(news.questions));
  button.addEventListener('click', openInbox);
  offer('inbox', { name: 'Questions that wait for you', hint: 'inbox', run: openInbox });
  addEventListener('keydown', (event) => { if (event.target.closest?.('input, textarea')) typed = performance.now(); }, true);
  // Another dialog may have been in the way. `close` does not rise, so it is caught on its way down.
  document.addEventListener('close', () => setTimeout(next), true);
  new MutationObserver(drawTitle).observe(document.querySelector('title'), { childList: true });
}

/** The conversation that the person looks at, or null. */
export function inView(id) {
  if (chatInView === id) return;
  chatInView = id;
  // Whoever goes elsewhere has not said no: the question waits in the inbox.
  if (shown && !shown.byHand && find(shown.id)?.chat !== id) dismiss();
  next();
}

/** Whether a conversation waits for an answer. */
export const waits = (chat) => questions.some((question) => question.chat === chat);

/** Opens this question, wherever it comes from. */
export function answerQuestion(id) {
  const question = find(id);
  if (!question) toast('This question is gone', { hint: 'It was answered elsewhere, or its turn has ended.' });
  else open(question, true);
}

const find = (id) => questions.find((question) => question.id === id);

function take(list) {
  questions = list;
  for (const id of setAside) if (!find(id)) setAside.delete(id);
  draw();
  dispatchEvent(new CustomEvent('verger:questions'));
  if (shown && !shown.answering && !find(shown.id)) {
    dismiss();
    toast('That question is gone', { hint: 'It was answered elsewhere, or its turn was stopped.' });
  }
  next();
}

function dismiss() {
  const dialog = shown;
  shown = null;
  dialog.close();
}

function draw() {
  button.hidden = !questions.length;
  const words = `${questions.length} ${questions.length === 1 ? 'question' : 'questions'}`;
  fill(button, icon('chat'), h('span.inbox-count', String(questions.length)), ' ', h('span.inbox-words', questions.length === 1 ? 'question' : 'questions'));
  button.setAttribute('aria-label', `${words} for you`);
  drawTitle();
}

function drawTitle() {
  const bare = document.title.replace(/^\(\d+\) /, '');
  const wanted = questions.length ? `(${questions.length}) ${bare}` : bare;
  if (document.title !== wanted) document.title = wanted;
}

/** Opens the oldest question of the conversation in view, unless something else is open or somebody types. */
function next() {
  clearTimeout(later);
  if (shown || document.querySelector('dialog[open]')) return;
  const question = questions.find((waiting) => chatInView && waiting.chat === chatInView && !setAside.has(waiting.id));
  if (!question) return;
  const rest = typed ? PAUSE - (performance.now() - typed) : 0;
  if (rest > 0) later = setTimeout(next, rest);
  else open(question, false);
}

function open(question, byHand) {
  if (shown) dismiss();
  const mine = { id: question.id, byHand, answering: false };
  const send = async (answer) => {
    mine.answering = true;
    try {
      await post(`/api/questions/${question.id}`, answer);
    } catch (problem) {
      mine.answering = false;
      if (problem.reason !== 'question_gone') throw problem;
      toast('That question is gone', { hint: 'It was answered elsewhere, or its turn was stopped.' });
    }
    // Until the stream says so, too.
    questions = questions.filter((other) => other.id !== question.id);
    draw();
  };
  const dialog = askDialog(question, {
    send,
    closed: (answered) => {
      const wasMine = shown === mine;
      if (wasMine) shown = null;
      // Closing is a no. One that is taken away from outside is none of ours.
      if (!answered && wasMine) {
        setAside.add(question.id);
        send({ answer: 'deny' }).catch(trouble);
      }
      setTimeout(next);
    },
  });
  mine.close = dialog.close;
  shown = mine;
  dialog.show();
}

async function openInbox() {
  const stale = await get('/api/questions').catch(trouble);
  if (stale) { questions = stale.questions; draw(); }
  const list = h('div.dialog-body.inbox');
  const drawList = () => fill(list, questions.length ? h('ul', questions.map(row)) : h('p.muted', 'Nothing waits for you. Questions of conversations that you do not look at come here.'));
  let finish = () => {};
  const row = (question) => h('li', h('button.inbox-row', { type: 'button', onclick: () => finish(question.id) },
    h('span.inbox-title', question.warning && icon('warn'), sentence(question)),
    h('span.small.muted', [question.chat_title || 'Untitled conversation', question.child && `helper ${question.child}`, ago(question.since_ms)].filter(Boolean).join(' · '))));
  drawList();
  addEventListener('verger:questions', drawList);
  const id = await openDialog({ title: 'Questions for you', className: 'inbox-dialog', make: (close) => { finish = close; return list; } });
  removeEventListener('verger:questions', drawList);
  if (id) answerQuestion(id);
}
