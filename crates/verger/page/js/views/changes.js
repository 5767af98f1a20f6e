// Changes: a time line of what was changed, by whom and why, and the way back.
import { ago, count, fill, h, icon, later } from '../dom.js';
import { get } from '../api.js';
import * as live from '../live.js';
import { diffView } from '../diff.js';
import { sentence, takeBack } from '../propose.js';
import { trouble } from '../toast.js';

const PAGE = 50;

const TOOLS = {
  write_file: 'wrote', append_to_file: 'added to', edit_file: 'edited', replace_in_file: 'edited', patch_note: 'edited', batch_files: 'changed several notes',
  create_folder: 'made a folder', create_base: 'made a base', update_base: 'changed a base', delete_file: 'deleted', move_file: 'moved',
  manage_tags: 'changed the tags of', update_frontmatter: 'changed the properties of', restore_checkpoint: 'took back', vault_health_repair: 'mended',
  write_chat: 'wrote a chat into', obsidian_update_note: 'wrote', obsidian_append_content: 'added to', obsidian_patch_content: 'edited', obsidian_search_replace: 'edited',
  obsidian_manage_frontmatter: 'changed the properties of', obsidian_manage_tags: 'changed the tags of', obsidian_delete_note: 'deleted', obsidian_move_note: 'moved',
};
const AGENTS = { cli: 'You, in the terminal', web: 'You, on this page', chat: 'You, in a chat', note: 'A chat in a note' };
const KINDS = { create: 'new', replace: 'changed', delete: 'deleted', move: 'moved', folder: 'folder' };

/** Whether its task is one piece of work: what a person does by hand has no task of its own, or one for the whole day. */
const isTask = (change) => !['cli', 'web'].includes(change.agent);
const who = (agent) => AGENTS[agent] ?? agent ?? 'somebody';
const name = (path) => path.split('/').pop().replace(/\.md$/, '');
const day = (ms) => new Date(ms).toDateString();
const clock = (ms) => new Date(ms).toLocaleTimeString('en', { hour: '2-digit', minute: '2-digit', hour12: false });

export async function mount(root, { rest, query }) {
  return rest ? one(root, rest) : list(root, query);
}

/** Words for a day: today, yesterday, or its date. */
function dayName(ms) {
  const gone = Math.round((new Date(day(Date.now())) - new Date(day(ms))) / 86_400_000);
  if (gone === 0) return 'Today';
  if (gone === 1) return 'Yesterday';
  return new Date(ms).toLocaleDateString('en', { weekday: 'long', day: 'numeric', month: 'long', year: new Date(ms).getFullYear() === new Date().getFullYear() ? undefined : 'numeric' });
}

/** Who said yes, in plain words. */
function approved(text) {
  if (!text) return 'allowed by your settings';
  const [, life, by] = /^(\w+) by (.+)$/.exec(text) ?? [];
  const where = { web: 'on this page', terminal: 'in the terminal', editor: 'in the editor', '--yes': 'beforehand, with --yes' }[by] ?? (by && `by ${by}`);
  if (life === 'edited') return `you changed it ${where} and said yes`;
  if (life === 'once') return `you said yes ${where}`;
  if (life) return `you said yes ${where}, for ${{ task: 'the task', session: 'the session', always: 'always' }[life] ?? life}`;
  if (/^grant/.test(text)) return `allowed by your ${text}`;
  return text;
}

async function list(root, query) {
  const wanted = { path: query.get('path') || undefined, task: query.get('task') || undefined, agent: query.get('agent') || undefined, day: query.get('day') || undefined };
  const status = h('p.small.muted', { role: 'status' });
  const body = h('div.time-line', h('p.waiting', 'Reading the history…'));
  const more = h('button', { type: 'button', hidden: true, onclick: () => load().catch(trouble) }, 'Show older changes');
  const agents = h('select', { onchange: apply }, h('option', { value: '' }, 'Everybody'));
  const form = h('form.changes-filter', { role: 'search', 'aria-label': 'Filter the changes', onsubmit: (event) => { event.preventDefault(); apply(); } },
    h('label', h('span', 'Note or folder'), h('input', { name: 'path', value: wanted.path ?? '', placeholder: 'Projects/Plan.md', autocomplete: 'off', spellcheck: 'false' })),
    h('label', h('span', 'Who'), agents),
    h('label', h('span', 'Day'), h('input', { name: 'day', type: 'date', value: wanted.day ?? '', onchange: apply })),
    h('button', { type: 'submit' }, 'Filter'),
    Object.values(wanted).some(Boolean) && h('a.button', { href: '#/changes' }, 'Show all'));
  fill(root, h('div.page.changes', h('h1', 'Changes'),
    h('p.lead.muted', wanted.task ? 'What one task changed.' : 'Everything that was changed through Verger, newest first. Each change can be taken back.'),
    form, status, body, h('p', more)));

  let rows = [];
  let tasks = {};
  let next = null;
  const seen = new Set(wanted.agent ? [wanted.agent] : []);

  function apply() {
    const asked = new URLSearchParams();
    const fields = { path: form.elements.path.value.trim().replace(/^\/+/, ''), agent: agents.value, day: form.elements.day.value, task: wanted.task };
    for (const [key, value] of Object.entries(fields)) if (value) asked.set(key, value);
    location.hash = `#/changes${asked.size ? `?${asked}` : ''}`;
  }

  function ask(before) {
    const start = wanted.day ? new Date(`${wanted.day}T00:00`).getTime() : undefined;
    const end = wanted.day ? new Date(new Date(start).setDate(new Date(start).getDate() + 1)).getTime() : undefined;
    return get('/api/changes', { before, limit: PAGE, path: wanted.path, task: wanted.task, agent: wanted.agent, from_ms: start, to_ms: end });
  }

  async function load() {
    const answer = await ask(next ?? undefined);
    rows = rows.concat(answer.changes);
    tasks = { ...tasks, ...answer.tasks };
    next = answer.next;
    draw();
  }

  function draw() {
    for (const row of rows) if (row.agent) seen.add(row.agent);
    fill(agents, h('option', { value: '' }, 'Everybody'), [...seen].sort().map((agent) => h('option', { value: agent, selected: agent === wanted.agent }, who(agent))));
    const held = document.activeElement?.closest?.('[data-key]')?.dataset.key;
    more.hidden = !next;
    if (!rows.length) fill(body, empty(wanted));
    else fill(body, byDay(rows).map(([title, groups]) => h('section.day', h('h2', title), groups.map((group) => taskCard(group, tasks[group[0].task], refresh)))));
    if (held) body.querySelector(`[data-key="${CSS.escape(held)}"]`)?.focus();
  }

  async function refresh() {
    const answer = await ask();
    const known = JSON.stringify(rows.slice(0, answer.changes.length));
    if (known === JSON.stringify(answer.changes)) return;
    // What was added pushes the rest down; older pages that were opened stay open.
    const old = answer.next ? rows.slice(rows.findIndex((row) => row.id === answer.next) + 1) : [];
    const kept = rows.some((row) => row.id === answer.next) ? old : [];
    rows = answer.changes.concat(kept);
    tasks = { ...tasks, ...answer.tasks };
    if (!kept.length) next = answer.next;
    fill(status, '');
    draw();
  }

  await load();
  let notes = null;
  const again = later(300, () => refresh().catch(() => {}));
  return live.on('pulse', (pulse) => {
    if (notes !== null && pulse.notes !== notes) again();
    notes = pulse.notes;
  });
}

function empty(wanted) {
  if (Object.values(wanted).some(Boolean)) return h('div.empty', h('h2', 'No change fits'), h('p', 'Nothing was changed there through Verger, or it is older than what is kept.'), h('p', h('a', { href: '#/changes' }, 'Show all changes')));
  return h('div.empty', h('h2', 'Nothing was changed yet'), h('p', 'When you or an agent change a note through Verger, it appears here: who did it, why, and every line that differs. One click takes it back.'),
    h('p', h('a.button', { href: '#/chat' }, 'Ask the agent for something')));
}

/** Rows grouped by day and, in it, by task. */
function byDay(rows) {
  const days = [];
  for (const row of rows) {
    let last = days.at(-1);
    if (last?.key !== day(row.time_ms)) days.push(last = { key: day(row.time_ms), ms: row.time_ms, groups: [] });
    const group = last.groups.at(-1);
    if (group && group[0].task === row.task) group.push(row);
    else last.groups.push([row]);
  }
  return days.map(({ ms, groups }) => [dayName(ms), groups]);
}

function taskCard(group, turn, refresh) {
  const [first] = group;
  const standing = group.filter((row) => !row.undone && row.state !== 'undone_failed' && !row.takes_back);
  const undoAll = () => takeBack({ task: first.task }, 'Take back the whole task').then((done) => done && refresh()).catch(trouble);
  return h('article.card.task', { 'aria-label': turn?.why ? `Task: ${turn.why.slice(0, 80)}` : `Changes by ${who(first.agent)}` },
    h('header.row.spread',
      h('div.row',
        h('strong', who(turn?.agent ?? first.agent)),
        turn?.helper && h('span.chip', 'a helper'),
        turn?.model && h('span.chip', turn.model),
        turn && h('a.small', { href: `#/chat/${encodeURIComponent(turn.session)}` }, turn.title ? `“${turn.title}”` : 'the conversation')),
      standing.length > 1 && isTask(first) && h('button.small', { type: 'button', dataset: { key: `task-${first.task}` }, onclick: undoAll }, icon('undo'), `Take back all ${standing.length}`)),
    turn?.why && h('blockquote.why', turn.why.length > 280 ? `${turn.why.slice(0, 280)}…` : turn.why),
    h('ul.change-list', group.map((row) => changeRow(row, refresh))));
}

function changeRow(row, refresh) {
  const undo = () => takeBack({ id: row.id }, row.takes_back ? 'Take back this undo' : 'Take back this change').then((done) => done && refresh()).catch(trouble);
  return h(`li.change${row.undone ? '.undone' : ''}`,
    h('time.small.muted', { datetime: new Date(row.time_ms).toISOString(), title: new Date(row.time_ms).toLocaleString() }, clock(row.time_ms)),
    h('div.what',
      h('p', h('a', { href: `#/changes/${row.id}`, dataset: { key: row.id } }, sentence(title(row)).slice(0, -1)), ' ', stateChip(row)),
      h('p.files', row.steps.map(fileChip), row.total_steps > row.steps.length && h('span.muted.small', `and ${count(row.total_steps - row.steps.length, 'more file')}`)),
      h('p.small.muted', sentence(approved(row.approval)))),
    !row.undone && row.state !== 'undone_failed' && h('button.small.quiet', { type: 'button', 'aria-label': `Take back: ${title(row)}`, dataset: { key: `undo-${row.id}` }, onclick: undo }, icon('undo'), 'Take back'));
}

/** What a change did, in a few words. */
function title(row) {
  if (row.takes_back) {
    if (row.takes_back.task) return 'took back a whole task';
    return row.takes_back.path ? `took back ${name(row.takes_back.path)}` : `took back a change of ${name(row.steps[0]?.path ?? '')}`;
  }
  const words = TOOLS[row.tool] ?? row.tool.replaceAll('_', ' ');
  if (row.total_steps > 1) return `${words.replace(/ of$| to$| into$/, '')}: ${count(row.total_steps, 'file')}`;
  return row.steps[0] ? `${words.replace(/ a (folder|base)$/, ' the $1')} ${name(row.steps[0].path)}` : words;
}

function stateChip(row) {
  if (row.state === 'undone_failed') return h('span.chip.warn', 'failed, nothing was changed');
  if (row.undone) return row.undone_by ? h('a.chip', { href: `#/changes/${row.undone_by}` }, 'taken back') : h('span.chip', 'taken back');
  if (row.steps.some((step) => step.undone_by)) return h('span.chip', 'taken back in part');
  if (row.state === 'finished') return h('span.chip', 'interrupted, finished later');
  return null;
}

function fileChip(step) {
  return h('span.chip.file', { title: step.to ? `${step.path} → ${step.to}` : step.path },
    h('span.clip', name(step.to && step.kind === 'move' ? step.to : step.path)),
    step.kind !== 'replace' && h('span.muted', KINDS[step.kind]),
    step.added > 0 && h('span.plus', `+${step.added}`), step.removed > 0 && h('span.minus', `−${step.removed}`));
}

async function one(root, id) {
  const draw = async () => {
    const change = await get(`/api/changes/${encodeURIComponent(id)}`);
    const turn = change.turn;
    const undo = (what, words) => takeBack(what, words).then((done) => done && draw()).catch(trouble);
    const can = !change.undone && change.state !== 'undone_failed';
    fill(root, h('div.page.changes.change-page',
      h('p', h('a', { href: '#/changes' }, '← All changes')),
      h('h1', sentence(title(change)).slice(0, -1)),
      h('p.row', stateChip(change), h('span.muted', `${new Date(change.time_ms).toLocaleString('en', { dateStyle: 'full', timeStyle: 'short' })} (${ago(change.time_ms)})`)),
      h('dl.facts.card',
        fact('Who', who(turn?.agent ?? change.agent), turn?.helper && ' (a helper)', turn?.model && ` with ${turn.model}`),
        fact('Why', turn?.why ? h('blockquote.why', turn.why) : h('span.muted', 'no conversation belongs to it')),
        fact('Approval', sentence(approved(change.approval))),
        turn && fact('Conversation', h('a', { href: `#/chat/${encodeURIComponent(turn.session)}` }, turn.title ?? 'open it')),
        change.takes_back?.id && fact('Takes back', h('a', { href: `#/changes/${change.takes_back.id}` }, 'this change')),
        fact('Tool', h('code', change.tool), h('span.muted', ` · ${change.id}`))),
      h('div.row.actions',
        can && h('button.main', { type: 'button', onclick: () => undo({ id: change.id }, 'Take back this change') }, icon('undo'), change.takes_back ? 'Take back this undo' : 'Take back this change'),
        isTask(change) && h('button', { type: 'button', onclick: () => undo({ task: change.task }, 'Take back the whole task') }, 'Take back the whole task…'),
        isTask(change) && h('a.button', { href: `#/changes?task=${encodeURIComponent(change.task)}` }, 'All changes of this task')),
      h('h2', `${count(change.total_steps, 'file')}`),
      change.total_steps > change.files.length && h('p.note-box', `The first ${change.files.length} of ${change.total_steps} are shown.`),
      change.files.map((file) => filePart(change, file, can, undo, change.files.length <= 5))));
  };
  await draw();
  root.querySelector('h1')?.setAttribute('tabindex', '-1');
  let notes = null;
  const again = later(400, () => { if (!document.querySelector('dialog[open]')) draw().catch(() => {}); });
  return live.on('pulse', (pulse) => {
    if (notes !== null && pulse.notes !== notes) again();
    notes = pulse.notes;
  });
}

const fact = (term, ...what) => h('div', h('dt', term), h('dd', what));

function filePart(change, file, can, undo, open) {
  const known = change.steps.find((step) => step.path === file.path);
  const gone = file.kind === 'delete';
  return h('section.file-part',
    h('header.row.spread',
      h('h3', gone ? file.path : h('a', { href: `#/notes/${(file.to ?? file.path).split('/').map(encodeURIComponent).join('/')}` }, file.path), file.to && !gone && ` → ${file.to}`, ' ',
        h('span.chip', KINDS[file.kind]), ' ', file.added > 0 && h('span.plus', `+${file.added}`), ' ', file.removed > 0 && h('span.minus', `−${file.removed}`)),
      h('div.row',
        h('a.small', { href: `#/changes?path=${encodeURIComponent(file.path)}` }, 'History'),
        known?.undone_by ? h('span.chip', 'taken back')
          : can && change.total_steps > 1 && h('button.small', { type: 'button', onclick: () => undo({ id: change.id, path: file.path }, `Take back ${name(file.path)}`) }, icon('undo'), 'Take back this file'))),
    h('details', { open }, h('summary', 'What differs'), diffView(file), file.cut && h('p.muted.small', 'The rest is too long to show here.')));
}
