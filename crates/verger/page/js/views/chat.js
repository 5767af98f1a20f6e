// Chat: one conversation in view, the others in a list beside it. What streams is patched into the page, never drawn anew.
import { fill, h, icon, later } from '../dom.js';
import { get, post, put } from '../api.js';
import * as live from '../live.js';
import { offer } from '../palette.js';
import { trouble } from '../toast.js';
import { menuButton } from '../menu.js';
import { takeBack } from '../propose.js';
import { answerQuestion, inView } from '../approval.js';
import { composer } from '../chat/composer.js';
import { entries, sessions, titleOf } from '../chat/sessions.js';
import { transcript } from '../chat/transcript.js';
import { noModel, welcome } from '../chat/welcome.js';
import { orders } from '../chat/orders.js';

/** The view that was mounted last. One that is still loading when the next begins must not take the stream away from it. */
let newest = null;

export async function mount(root, { rest }) {
  newest = root;
  const choices = await get('/api/choices');
  const talk = { id: rest || null, title: null, agent: choices.agent, model: choices.model, running: false, half_way: false, meter: null, items: [] };
  const room = build(root, talk, choices);
  const heard = [
    live.on('items', ({ items }) => { room.script.update(items); room.show(); }),
    live.on('chat', (news) => { if (news.id === talk.id) { Object.assign(talk, news); room.show(); } }),
    live.on('reset', () => load().catch((problem) => problem.reason === 'unreachable' || trouble(problem))),
    live.on('pulse', room.pulse),
    offer('chat-new', { name: 'New conversation', hint: 'chat', run: () => { location.hash = '#/chat'; } }),
    offer('chat-stop', { name: 'Stop the model', hint: 'chat', run: () => talk.running && room.act.stop() }),
  ];
  const leave = () => {
    for (const stop of heard) stop();
    room.script.stop();
    room.list.stop();
    if (newest !== root) return;
    inView(null);
    live.follow(null);
  };
  const load = () => room.load().catch((problem) => {
    if (problem.status !== 404) throw problem;
    room.missing(problem);
  });
  room.list.refresh();
  try {
    await load();
  } catch (problem) {
    leave();
    throw problem;
  }
  return leave;
}

function build(root, talk, choices) {
  const hasModel = Boolean(choices.model || choices.models.length);
  const go = ({ id }) => { location.hash = `#/chat/${id}`; };
  const at = (what) => `/api/chats/${encodeURIComponent(talk.id)}/${what}`;
  const act = {
    say: async (text, attachments) => {
      if (!talk.id) await begin();
      script.toEnd();
      await post(at('say'), { text, attachments });
    },
    stop: () => post(at('stop')).catch(trouble),
    goOn: () => post(at('go_on')).catch(trouble),
    retry: () => post(at('retry')).then(go, trouble),
    fork: (item) => post(at('fork'), { item: item.id }).then(go, trouble),
    resend: (item, text) => post(at('resend'), { item: item.id, text }).then(go),
    takeBack: (id) => takeBack({ id }, 'Take this change back?').catch(trouble),
    answer: (question) => answerQuestion(question),
    choose: async (change) => {
      Object.assign(talk, change);
      show();
      if (talk.id) await put(`/api/chats/${encodeURIComponent(talk.id)}`, change).catch(trouble);
    },
  };
  const script = transcript(act);
  const commands = orders({ talk, act, choices });
  const writer = composer({ choices, act: { ...act, order: commands.run }, commands: commands.list, grown: () => script.settle() });
  const list = sessions({ current: () => talk.id, close: () => drawer(false) });
  const title = h('h2.chat-title');
  const origin = h('p.small.muted.origin', { hidden: true });
  const menu = menuButton({ label: 'What can be done with this conversation', entries: () => entries(talk, () => { list.refresh(); room.load().catch(trouble); }) });
  const opener = h('button.quiet.icon.drawer-open', { type: 'button', 'aria-label': 'Show the conversations', 'aria-expanded': 'false', onclick: () => drawer(true) }, icon('chat'));
  const empty = h('div.chat-empty', hasModel ? welcome((text) => { writer.write(text); writer.focus(); }) : noModel());
  const column = h('section.chat-column', { 'aria-label': 'Conversation' },
    h('header.chat-head', opener, h('div.grow', title, origin), h('a.button.quiet.small.head-new', { href: '#/chat', 'aria-label': 'New conversation' }, icon('plus')), menu),
    empty, script.element, h('div.chat-foot', script.todo, writer.element));
  const shade = h('div.drawer-shade', { onclick: () => drawer(false) });
  const drawer = (open) => {
    if (root.classList.contains('drawer') === open) return;
    root.classList.toggle('drawer', open);
    column.inert = open;
    opener.setAttribute('aria-expanded', String(open));
    if (open) list.element.querySelector('input').focus();
    else opener.focus();
  };
  root.addEventListener('keydown', (event) => { if (event.key === 'Escape' && root.classList.contains('drawer')) drawer(false); });
  writer.dropOn(column);
  fill(root, h('h1.visually-hidden', 'Chat'), list.element, shade, column);

  const show = () => {
    title.textContent = talk.id ? titleOf(talk) : 'New conversation';
    menu.hidden = !talk.id;
    empty.hidden = !script.isEmpty() || (talk.id && talk.running);
    script.element.hidden = !empty.hidden;
    writer.element.hidden = !hasModel;
    writer.update(talk);
    script.state(talk);
    list.update(talk);
  };
  /** The conversation gets its id when the first message is sent; the page stays as it is. */
  const begin = async () => {
    const { id } = await post('/api/chats', { agent: talk.agent ?? undefined, model: talk.model ?? undefined });
    history.replaceState(null, '', `#/chat/${id}`);
    talk.id = id;
    writer.belongsTo(id, { carry: true });
    await load();
    list.refresh();
  };
  const load = async () => {
    if (newest !== root) return;
    inView(talk.id);
    if (!talk.id) {
      live.follow(null);
      show();
      return;
    }
    const chat = await get(`/api/chats/${encodeURIComponent(talk.id)}`);
    if (newest !== root) return;
    Object.assign(talk, chat);
    script.replace(chat.items);
    origin.hidden = !chat.forked_from;
    fill(origin, 'Branched from ', h('a', { href: `#/chat/${chat.forked_from}` }, 'another conversation'));
    live.follow(talk.id, chat.cursor);
    show();
  };
  const refreshList = later(300, () => list.refresh());
  let seen = null;
  const pulse = ({ chats }) => {
    if (seen !== null && chats !== seen) refreshList();
    seen = chats;
  };
  /** Nobody can write to what is not there; the others are beside it. */
  const missing = (problem) => {
    live.follow(null);
    script.element.hidden = true;
    empty.hidden = false;
    title.textContent = 'Not here';
    menu.hidden = true;
    writer.element.hidden = true;
    fill(empty, h('div.welcome', h('h2', problem.message), h('p.muted', problem.hint), h('p', h('a.button.main', { href: '#/chat' }, icon('plus'), 'New conversation'))));
  };
  writer.belongsTo(talk.id);
  const room = { script, list, act, show, load, pulse, missing };
  show();
  if (hasModel && matchMedia('(hover: hover)').matches) writer.focus();
  return room;
}
