// Standing grants: what may be changed without asking.
import { ago, h } from '../../dom.js';
import { get, post } from '../../api.js';
import { confirmDialog } from '../../dialog.js';
import { toast } from '../../toast.js';
import { doing, field, part } from './form.js';

const LIFE = { task: 'for one conversation', session: 'until Verger ends', always: 'until you take it back' };

export async function make({ draw }) {
  const { grants, tools } = await get('/api/settings/grants');
  const row = (grant) => h('li.row', h('div.grow',
    h('strong', grant.words[0].toUpperCase() + grant.words.slice(1)), grant.over && h('span.chip', 'over'),
    h('div.muted.small', `given ${ago(grant.given_ms)}, ${grant.expires_ms ? `${grant.over ? 'ended' : 'until'} ${new Date(grant.expires_ms).toLocaleString('en')}` : LIFE[grant.lifetime]}, ${grant.used ? `used ${grant.used} ${grant.used === 1 ? 'time' : 'times'}, last ${ago(Date.parse(grant.last_used))}` : 'not used yet'}`)),
  doing('Take back', 'Taking back…', async () => {
    await post('/api/settings/grants/revoke', { id: grant.id });
    toast('Taken back: it is asked again.');
    await draw();
  }, '.small'));
  const tool = field({ label: 'It may', kind: 'select', options: tools.map((one) => [one.name, `${one.words} (${one.name})`]), value: 'append_to_file' });
  const paths = field({ label: 'Where', placeholder: 'Journal/**', help: 'As in .gitignore, from the top of the vault. Journal/** is everything in Journal.' });
  const expires = field({ label: 'How long', kind: 'select', options: [['', 'until I take it back'], ['1h', 'for an hour'], ['1d', 'for a day'], ['7d', 'for a week'], ['4w', 'for four weeks']], value: '' });
  return [
    part('What may be done without asking', 'Each of these began with a yes of yours: “always” in a question, a folder you opened, or a line below.',
      grants.length ? [h('ul.plain.rows', grants.map(row)), doing(`Take all ${grants.length} back`, 'Taking back…', async () => {
        if (!await confirmDialog({ title: 'Take all grants back?', text: 'From then on every change is asked again.', yes: 'Take all back', danger: true })) return;
        await post('/api/settings/grants/revoke', {});
        toast('Every change is asked again.');
        await draw();
      }, '.danger')] : h('p.note-box', 'There are none: every change is asked.')),
    part('Give one by hand', null, h('form', { onsubmit: async (event) => {
      event.preventDefault();
      try {
        const { done } = await post('/api/settings/grants', { tool: tool.now(), paths: paths.now() ?? '', expires: expires.now() ?? undefined });
        toast(`Granted: ${done.text}.`);
        await draw();
      } catch (problem) {
        toast(problem.message, { hint: problem.hint, kind: 'bad' });
      }
    } }, h('div.columns', tool, paths, expires), h('button.main', { type: 'submit' }, 'Grant'))),
  ];
}
