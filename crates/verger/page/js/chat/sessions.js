// The list of conversations: search, rename, branch, export, delete; which ones work and which ones wait.
import { ago, fill, h, icon, later } from '../dom.js';
import { get, post, put, remove } from '../api.js';
import { confirmDialog, openDialog } from '../dialog.js';
import { waits } from '../approval.js';
import { menuButton } from '../menu.js';
import { toast, trouble } from '../toast.js';

/** What was there last, so that going from one conversation to the next shows the list at once. */
let kept = [];
const MOST = 200;

export const titleOf = (chat) => chat.title || 'Untitled conversation';

/** The list. `current()` is the id of the one that is open. */
export function sessions({ current, close }) {
  let searching = '';
  let found = null;
  const box = h('input', { type: 'search', placeholder: 'Search conversations', 'aria-label': 'Search conversations', autocomplete: 'off' });
  const list = h('div.session-groups');
  const told = h('p.visually-hidden', { role: 'status' });
  const element = h('aside.sessions', { 'aria-label': 'Conversations' },
    h('div.sessions-head', h('h2', 'Conversations'),
      h('button.quiet.icon.drawer-close', { type: 'button', 'aria-label': 'Close the list', onclick: close }, icon('close')),
      h('a.button.small.new-chat', { href: '#/chat', onclick: close }, icon('plus'), 'New')),
    h('div.sessions-search', box), told, list);

  const row = (chat) => h('li', { dataset: { id: chat.id } },
    h('a.session', { href: `#/chat/${chat.id}`, 'aria-current': chat.id === current() ? 'page' : undefined, onclick: close },
      h('span.session-title', titleOf(chat)),
      h('span.session-meta', mark(chat), h('span', ago(chat.updated_ms))),
      chat.excerpt && h('span.session-excerpt', chat.excerpt)),
    menuButton({ label: `What can be done with ${titleOf(chat)}`, className: '.session-menu', entries: () => entries(chat, refresh) }));
  const draw = () => {
    const shown = found ?? kept;
    if (!shown.length) return fill(list, h('p.muted.small.none', searching ? 'No conversation speaks of that.' : 'Your conversations are kept here, on this machine.'));
    const focused = list.contains(document.activeElement) ? document.activeElement.closest('li')?.dataset.id : null;
    fill(list, found ? h('ul', found.map(row)) : grouped(kept).map(([name, chats]) => h('section', h('h3', name), h('ul', chats.map(row)))));
    if (focused) list.querySelector(`li[data-id="${CSS.escape(focused)}"] .session`)?.focus({ preventScroll: true });
    return undefined;
  };
  const refresh = async () => {
    try {
      kept = (await get('/api/chats', { limit: MOST })).chats;
      if (searching) await search();
      else draw();
    } catch (problem) {
      // That the server is gone is said at the top already.
      if (problem.reason !== 'unreachable') trouble(problem);
    }
  };
  const search = async () => {
    const text = searching;
    const answer = text ? await post('/api/chats/search', { text }) : null;
    if (text !== searching) return;
    found = answer?.chats ?? null;
    told.textContent = found ? `${found.length} found` : '';
    draw();
  };
  const searchLater = later(180, () => search().catch(trouble));
  box.addEventListener('input', () => { searching = box.value.trim(); searchLater(); });
  /** What the stream tells of the open one. */
  const update = (talk) => {
    const known = kept.find((chat) => chat.id === talk.id);
    if (!known || ['title', 'running', 'half_way'].every((key) => talk[key] === undefined || known[key] === talk[key])) return;
    Object.assign(known, talk);
    draw();
  };
  addEventListener('verger:questions', draw);
  draw();
  return { element, refresh, update, stop: () => removeEventListener('verger:questions', draw) };
}

function mark(chat) {
  if (waits(chat.id)) return h('span.chip.warn', 'waits for you');
  if (chat.running) return h('span.mark-running', h('span.dots', { 'aria-hidden': 'true' }), 'working');
  if (chat.half_way) return h('span.chip', 'half way');
  return null;
}

function grouped(chats) {
  const midnight = new Date().setHours(0, 0, 0, 0);
  const day = 86_400_000;
  const groups = [['Today', midnight], ['Yesterday', midnight - day], ['Last 7 days', midnight - 6 * day], ['Last 30 days', midnight - 29 * day], ['Earlier', -Infinity]];
  const out = groups.map(([name]) => [name, []]);
  for (const chat of chats) out[groups.findIndex(([, from]) => chat.updated_ms >= from)][1].push(chat);
  return out.filter(([, inside]) => inside.length);
}

/** What can be done with a conversation. */
export function entries(chat, changed) {
  return [
    { name: 'Rename', icon: 'edit', run: () => rename(chat).then((done) => done && changed()).catch(trouble) },
    { name: 'Branch', icon: 'fork', run: () => post(`/api/chats/${encodeURIComponent(chat.id)}/fork`).then(({ id }) => { location.hash = `#/chat/${id}`; }, trouble) },
    { name: 'Make shorter', icon: 'down', run: () => post(`/api/chats/${encodeURIComponent(chat.id)}/shorten`).then(() => toast('It is made shorter'), trouble) },
    { name: 'Export as Markdown', icon: 'file', href: `/api/chats/${encodeURIComponent(chat.id)}/export?form=md` },
    { name: 'Export as JSON', icon: 'file', href: `/api/chats/${encodeURIComponent(chat.id)}/export?form=json` },
    { name: 'Delete', icon: 'trash', danger: true, run: () => erase(chat).then((done) => done && changed()).catch(trouble) },
  ];
}

async function rename(chat) {
  const field = h('input', { type: 'text', value: chat.title ?? '', maxlength: '200', autofocus: true });
  const title = await openDialog({
    title: 'Rename the conversation',
    make: (done) => {
      const take = () => { if (field.value.trim()) done(field.value.trim()); };
      field.addEventListener('keydown', (event) => { if (event.key === 'Enter' && !event.isComposing) { event.preventDefault(); take(); } });
      return [h('div.dialog-body', h('label.field', h('span', 'Title'), field)),
        h('footer.dialog-foot', h('button.quiet', { type: 'button', onclick: () => done(undefined) }, 'Cancel'), h('button.main', { type: 'button', onclick: take }, 'Rename'))];
    },
  });
  if (!title) return false;
  await put(`/api/chats/${encodeURIComponent(chat.id)}`, { title });
  return true;
}

async function erase(chat) {
  const sure = await confirmDialog({
    title: 'Delete this conversation?', yes: 'Delete', danger: true,
    text: `“${titleOf(chat)}” and what its helpers said are removed for good. Changes that were made to notes stay, and can still be taken back.`,
  });
  if (!sure) return false;
  await remove(`/api/chats/${encodeURIComponent(chat.id)}`);
  toast('The conversation was deleted');
  if (location.hash === `#/chat/${chat.id}`) location.hash = '#/chat';
  return true;
}
