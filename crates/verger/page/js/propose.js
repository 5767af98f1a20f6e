// A change that the person makes in two steps: they see what would change, then one click makes it.
import { count, fill, h } from './dom.js';
import { post } from './api.js';
import { openDialog } from './dialog.js';
import { diffList } from './diff.js';
import { toast, trouble } from './toast.js';

/**
 * Shows what a request would change and carries it out on a click. Resolves with what was done, or `undefined` when the person
 * closed the dialog. `force` says in which words a conflict may be overruled, as a second step.
 */
export async function propose(path, body, { title, yes, force, intro }) {
  let shown;
  try {
    shown = await post(path, body);
  } catch (problem) {
    if (problem.reason === 'restore_conflict' && force) return conflict(path, body, { title, yes, force, intro }, problem);
    trouble(problem);
    return undefined;
  }
  if (shown.nothing) {
    toast(sentence(shown.nothing));
    return undefined;
  }
  const decided = await openDialog({ title, className: 'wide', make: (close) => sheet(path, body, shown.shown, { yes, intro, force }, close) });
  if (decided?.again) return propose(path, body, { title, yes, force, intro });
  return decided?.done;
}

function sheet(path, body, shown, { yes, intro }, close) {
  const state = h('p.small.muted', { role: 'status' });
  const go = h('button.main', { type: 'button', autofocus: true, onclick: carry }, yes);
  async function carry() {
    go.disabled = true;
    fill(state, 'Working…');
    try {
      const answer = await post(path, { ...body, saw: shown.saw });
      close({ done: answer.done ?? { text: answer.nothing, files: [] } });
    } catch (problem) {
      if (problem.reason === 'changed_since') {
        fill(state, `${sentence(problem.message)} `, h('button.small', { type: 'button', onclick: () => close({ again: true }) }, 'Look again'));
        return;
      }
      go.disabled = false;
      fill(state, `${sentence(problem.message)} ${problem.hint ?? ''}`);
    }
  }
  return [
    h('div.dialog-body', intro && h('p', intro), h('p.muted', changed(shown.files)), diffList(shown.files)),
    h('footer.dialog-foot', h('div.grow', state), h('button.quiet', { type: 'button', onclick: () => close(undefined) }, 'Cancel'), go),
  ];
}

async function conflict(path, body, words, problem) {
  const names = problem.message.replace(/^changed again since: /, '').replaceAll('`', '');
  const anyway = await openDialog({
    title: 'Changed again since',
    make: (close) => [
      h('div.dialog-body',
        h('p', `After this change somebody changed it again: ${names}.`),
        h('p', 'Taking it back would also take away what was written later. That newer text stays in the history, so this too can be taken back.'),
        h('p.muted', 'Nothing has happened yet. You see every line before anything is done.')),
      h('footer.dialog-foot',
        h('button.main', { type: 'button', autofocus: true, onclick: () => close(false) }, 'Leave it as it is'),
        h('button.danger', { type: 'button', onclick: () => close(true) }, words.force)),
    ],
  });
  if (anyway !== true) return undefined;
  return propose(path, { ...body, force: true }, { ...words, force: undefined, intro: 'What was written later goes too; it stays in the history.' });
}

function changed(files) {
  const [added, removed] = ['added', 'removed'].map((key) => files.reduce((sum, file) => sum + (file[key] ?? 0), 0));
  return `${count(files.length, 'file')} would change: ${count(added, 'line')} added, ${count(removed, 'line')} removed.`;
}

/** A capital letter in front and a full stop behind. */
export function sentence(text) {
  const line = String(text ?? '').trim();
  return line && line[0].toUpperCase() + line.slice(1) + (/[.!?…]$/.test(line) ? '' : '.');
}

/** Takes back a change, a file of it, or a task; says so with the way back. Resolves with whether something was done. */
export async function takeBack(what, title) {
  const done = await propose('/api/undo', what, { title, yes: 'Take back', force: 'Take it back all the same' });
  if (!done) return false;
  told(done, 'Taken back.', 'Take back the undo');
  return true;
}

/** Says that something was done, and offers to take it back. */
export function told(done, words, back = 'Take it back') {
  const undo = done.checkpoint && { name: back, run: () => takeBack({ id: done.checkpoint }, 'Take back what you just did').catch(trouble) };
  toast(words, { hint: done.files?.length ? done.files.slice(0, 3).join(', ') + (done.files.length > 3 ? ` and ${done.files.length - 3} more` : '') : undefined, action: undo });
}
