// Access tokens: what programs on this machine hold to come in at /v1 and /mcp.
import { h, icon } from '../../dom.js';
import { get, post, remove } from '../../api.js';
import { confirmDialog, openDialog } from '../../dialog.js';
import { toast, trouble } from '../../toast.js';
import { doing, field, part } from './form.js';

const REACH = [['read', 'read notes (at /mcp)'], ['chat', 'talk with the agents (at /v1); they read'], ['edit', 'change notes: at /mcp without being asked, at /v1 as far as a standing grant covers it']];

export async function tokensPart(draw) {
  const { tokens } = await get('/api/tokens');
  return part('Access tokens', 'Other chat programs and MCP clients come in with a token: as a model of OpenAI’s kind at /v1, as an MCP server at /mcp, on the address of this page.',
    tokens.length ? h('ul.plain.cards', tokens.map((token) => row(token, draw))) : h('p.muted', 'There are none yet.'),
    wanted(draw));
}

function row(token, draw) {
  return h('li.card', h('div.row.spread', h('h3', token.name),
    doing('Revoke', 'Revoking…', async () => {
      if (!await confirmDialog({ title: `Revoke ${token.name}?`, text: 'The program that holds it does not come in any more.', yes: 'Revoke it', danger: true })) return;
      await remove(`/api/tokens/${encodeURIComponent(token.name)}`);
      await draw();
    }, '.danger.small')),
  h('p.muted.small', `may ${token.may.join(', ')} · made ${token.created} · ${token.used ? `last used ${token.used}` : 'never used'}`));
}

function wanted(draw) {
  const name = field({ label: 'For which program', placeholder: 'open-webui' });
  const boxes = REACH.map(([reach, words]) => [reach, h('input', { type: 'checkbox', checked: reach !== 'edit', id: `token-${reach}` }), words]);
  return h('form', { onsubmit: async (event) => {
    event.preventDefault();
    try {
      const { token } = await post('/api/tokens', { name: name.now() ?? '', may: boxes.filter(([, box]) => box.checked).map(([reach]) => reach) });
      await shown(token);
      await draw();
    } catch (problem) {
      trouble(problem);
    }
  } }, name, boxes.map(([reach, box, words]) => h('div.field.yes', h('div.row', box, h('label', { for: `token-${reach}` }, words)))), h('button.main', { type: 'submit' }, 'Make a token'));
}

const shown = (token) => openDialog({ title: 'The token', make: (close) => [
  h('div.dialog-body', h('p', 'Copy it now: it is shown only this once.'), h('pre', { tabindex: 0 }, token)),
  h('footer.dialog-foot',
    h('button', { type: 'button', onclick: () => navigator.clipboard.writeText(token).then(() => toast('Copied.'), () => toast('The browser does not let this page copy.', { kind: 'bad' })) }, icon('copy'), 'Copy'),
    h('button.main', { type: 'button', onclick: () => close(true) }, 'Done')),
] });
