// Other programs: MCP servers whose tools may be used, and assistants that may use this vault.
import { h, icon } from '../../dom.js';
import { get, post } from '../../api.js';
import { confirmDialog, openDialog } from '../../dialog.js';
import { toast, trouble } from '../../toast.js';
import { doing, field, part } from './form.js';
import { tokensPart } from './tokens.js';

const STATE = { ready: ['good', 'ready'], running: ['good', 'runs'], disabled: ['', 'switched off'], untrusted: ['warn', 'waits for trust'], failing: ['bad', 'does not start'] };
const FROM = { config: 'config.toml', added: 'added here', vault: 'this vault’s .mcp.json' };

export async function make({ draw }) {
  const [{ servers, problems }, { clients, entry }] = await Promise.all([get('/api/settings/servers'), get('/api/settings/clients')]);
  const tokens = await tokensPart(draw);
  return [
    part('Connect your AI client', 'The assistant that you have already can use this vault. Run one of these commands once, then start the client anew.',
      h('ul.plain.rows', clients.map((client) => h('li.row', h('strong.client', client.name), h('code.grow.command', client.command), copy(client.command, client.name)))),
      h('details', h('summary', 'For a client that is not in the list'), h('p.muted', 'Most take an entry like this in their settings:'), h('pre', { tabindex: 0 }, JSON.stringify(entry, null, 2)))),
    tokens,
    part('Tools of other programs', 'MCP servers whose tools your agent may ask for. Starting one and calling its tools is asked.',
      servers.length ? h('ul.plain.cards', servers.map((server) => card(server, draw))) : h('p.muted', 'There are none yet.'),
      problems.length > 0 && h('div.note-box.warn', problems.map((problem) => h('p', problem)))),
    part('Add one', 'Write keys as ${VARIABLE}; they are taken from the environment and stand in no file.', add(draw)),
  ];
}

const copy = (text, name) => h('button.small', { type: 'button', 'aria-label': `Copy the command for ${name}`, onclick: () => navigator.clipboard.writeText(text).then(() => toast('Copied.'), () => toast('The browser does not let this page copy.', { kind: 'bad' })) }, icon('copy'), 'Copy');

function card(server, draw) {
  const [tone, words] = STATE[server.state] ?? ['', server.state];
  const ask = (action, more = {}) => post('/api/settings/servers', { action, name: server.name, ...more });
  const act = (action, label, busy, className = '') => doing(label, busy, async () => {
    const { done } = await ask(action);
    toast(done.text);
    await draw();
  }, className);
  return h('li.card', h('div.row.spread', h('h3', server.name), h(`span.chip${tone ? `.${tone}` : ''}`, words)),
    h('p.muted.small', h('code', server.place), ` · ${FROM[server.origin] ?? server.origin}`),
    server.tools && h('details', h('summary', `${server.tools.length} ${server.tools.length === 1 ? 'tool' : 'tools'}`), h('ul', server.tools.map((tool) => h('li', h('code', tool.name), ` ${tool.about}`)))),
    h('div.row',
      server.state === 'untrusted' && h('button.main', { type: 'button', onclick: () => trust(server, ask, draw) }, 'Look and trust…'),
      server.state !== 'disabled' && server.state !== 'untrusted' && act('test', 'Test', 'Starting it…'),
      server.origin === 'added' && (server.state === 'disabled' ? act('enable', 'Switch on', 'Switching on…') : act('disable', 'Switch off', 'Switching off…')),
      server.origin === 'added' && doing('Remove', 'Removing…', async () => {
        if (!await confirmDialog({ title: `Remove ${server.name}?`, text: 'Its entry in mcp.json goes.', yes: 'Remove it', danger: true })) return;
        await ask('remove');
        await draw();
      }, '.quiet')));
}

async function trust(server, ask, draw) {
  const yes = await openDialog({ title: `Trust ${server.name}?`, className: 'wide', make: (close) => [
    h('div.dialog-body', h('p', 'The vault brings this entry. If you trust it, it may be started as it is written here, and only so.'), h('pre', { tabindex: 0 }, JSON.stringify(server.entry, null, 2))),
    h('footer.dialog-foot', h('button.quiet', { type: 'button', onclick: () => close(false) }, 'Leave it'), h('button.main', { type: 'button', onclick: () => close(true) }, 'Trust it as it is')),
  ] });
  if (!yes) return;
  try {
    const { done } = await ask('trust', { mark: server.mark });
    toast(done.text);
    await draw();
  } catch (problem) {
    trouble(problem);
  }
}

/** A line of words as a shell would split it, with quotes. */
function split(line) {
  return [...line.matchAll(/"((?:[^"\\]|\\.)*)"|'([^']*)'|(\S+)/g)].map(([, double, single, bare]) => double?.replace(/\\(.)/g, '$1') ?? single ?? bare);
}

function add(draw) {
  const name = field({ label: 'Name', placeholder: 'calendar' });
  const what = field({ label: 'Program or address', placeholder: 'npx some-server  or  https://example.org/mcp', help: 'A program with its arguments, or an address that begins with http.' });
  return h('form', { onsubmit: async (event) => {
    event.preventDefault();
    const text = what.now() ?? '';
    const [command, ...args] = split(text);
    const entry = /^https?:\/\//.test(text) ? { url: text } : { command, args };
    try {
      const { done } = await post('/api/settings/servers', { action: 'add', name: name.now() ?? '', ...entry });
      toast(done.text);
      await draw();
    } catch (problem) {
      trouble(problem);
    }
  } }, h('div.columns', name, what), h('button.main', { type: 'submit' }, 'Add'));
}
