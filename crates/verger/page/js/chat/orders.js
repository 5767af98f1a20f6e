// Commands that the page itself carries out; workflows and skills go to the server with the message.
import { get, post, put } from '../api.js';
import { toast } from '../toast.js';
import { takeBack } from '../propose.js';

const OWN = [
  { name: 'new', arguments: '', help: 'start a new conversation' },
  { name: 'rename', arguments: 'TITLE', help: 'give the conversation a title' },
  { name: 'agent', arguments: 'SLUG', help: 'change the agent' },
  { name: 'model', arguments: 'NAME', help: 'change the model' },
  { name: 'go', arguments: '', help: 'go on with a turn that was left half way' },
  { name: 'fork', arguments: '', help: 'go on in a copy of this conversation' },
  { name: 'retry', arguments: '', help: 'ask for the newest answer again, in a copy' },
  { name: 'shorten', arguments: '', help: 'make the conversation shorter now' },
  { name: 'undo', arguments: '', help: 'take back what the newest turn changed; shown first' },
  { name: 'stop', arguments: '', help: 'stop the model' },
];

/** `list()` for completion, `run(name, rest)` returns whether it was a command of the page. */
export function orders({ talk, act, choices }) {
  const list = () => [...choices.commands.filter((command) => !['builtin', 'built_in'].includes(command.kind)), ...OWN];
  const here = () => {
    if (!talk.id) throw { message: 'There is no conversation yet', hint: 'Say something first.' };
    return `/api/chats/${encodeURIComponent(talk.id)}`;
  };
  const named = (rest, known, what) => {
    const found = known.find((name) => name.toLowerCase() === rest.trim().toLowerCase());
    if (!found) throw { message: rest.trim() ? `There is no ${what} ${rest.trim()}` : `Which ${what}?`, hint: `There are: ${known.join(', ')}` };
    return found;
  };
  const RUN = {
    new: () => { location.hash = '#/chat'; },
    rename: async (rest) => { if (!rest.trim()) throw { message: 'Which title?', hint: '/rename A title' }; await put(here(), { title: rest.trim() }); },
    agent: async (rest) => { await act.choose({ agent: named(rest, choices.agents.map((agent) => agent.slug), 'agent') }); toast(`${talk.agent} goes on`); },
    model: async (rest) => { await act.choose({ model: named(rest, choices.models, 'model') }); toast(`${talk.model} answers from now on`); },
    go: () => { here(); return act.goOn(); },
    fork: async () => { const { id } = await post(`${here()}/fork`); location.hash = `#/chat/${id}`; },
    retry: () => { here(); return act.retry(); },
    shorten: async () => { await post(`${here()}/shorten`); toast('The conversation is made shorter'); },
    undo: async () => {
      const { items } = await get(here());
      const task = items.findLast((item) => item.kind === 'user' && item.task)?.task;
      if (!task) throw { message: 'There is nothing to take back', hint: 'Nothing was said yet.' };
      await takeBack({ task }, 'Take back what this turn changed?');
    },
    stop: () => { here(); return act.stop(); },
  };
  return {
    list,
    run: async (name, rest) => {
      if (!Object.hasOwn(RUN, name) || choices.commands.some((command) => command.name === name && ['workflow', 'skill'].includes(command.kind))) return false;
      await RUN[name](rest);
      return true;
    },
  };
}
