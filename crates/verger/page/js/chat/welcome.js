// What stands where nothing was said yet: ideas, or how to get a model.
import { h, icon } from '../dom.js';

const IDEAS = [
  ['find', 'What did I write about this week?'],
  ['health', 'Which notes have broken links? Show them, change nothing.'],
  ['edit', 'Make a note that sums up what I know about '],
  ['tag', 'Which of my tags mean the same?'],
];

/** With a model: a few things to begin with. */
export function welcome(choose) {
  return h('div.welcome',
    h('h2', 'What shall we do?'),
    h('p.muted', 'The model finds and reads notes by itself. Before it changes one it asks, and every change can be taken back.'),
    h('ul.ideas', IDEAS.map(([sign, text]) => h('li', h('button', { type: 'button', onclick: () => choose(text) }, icon(sign), h('span', text.endsWith(' ') ? `${text}…` : text))))));
}

const WAYS = [
  ['On this machine', 'Ollama runs open models here. Nothing leaves the machine, and it costs nothing.', 'Install Ollama, pull a model, and choose it in the settings.'],
  ['With a key', 'Anthropic, OpenAI, Google or OpenRouter answer for a price per use.', 'The key is kept on this machine, outside the vault.'],
  ['At an address', 'Any server that speaks the OpenAI format: LM Studio, llama.cpp, vLLM, one of your company.', 'Its URL is enough; a key if it wants one.'],
];

/** Without one: what it is for, and three ways to get one. */
export function noModel() {
  return h('div.welcome.no-model',
    h('h2', 'There is no model yet'),
    h('p', 'A model answers questions about your notes and works on them with you: it searches, reads, suggests changes and asks before it makes them. Everything else of this page works without one.'),
    h('ol.ways', WAYS.map(([name, what, how]) => h('li.card', h('h3', name), h('p', what), h('p.small.muted', how)))),
    h('p', h('a.button.main', { href: '#/settings' }, icon('settings'), 'Set up a model')));
}
