// Activity: how much was called, changed, spent and refused, day by day.
import { count, fill, h, later } from '../dom.js';
import { get } from '../api.js';
import * as live from '../live.js';
import { dayPlot, namePlot } from '../plot.js';
import { trouble } from '../toast.js';

const SPANS = [7, 30, 90];
const WHO = { cli: 'you, in the terminal', web: 'you, on this page', chat: 'you, in a chat' };
const short = (value) => (value >= 1e6 ? `${(value / 1e6).toLocaleString('en', { maximumFractionDigits: 1 })}M` : value >= 1e4 ? `${Math.round(value / 1e3)}k` : value.toLocaleString('en', { maximumFractionDigits: 1 }));
const money = (value) => `$${value.toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: value > 0 && value < 0.1 ? 4 : 2 })}`;

export async function mount(root, { query }) {
  let days = SPANS.includes(Number(query.get('days'))) ? Number(query.get('days')) : 30;
  const status = h('p.visually-hidden', { role: 'status' });
  const body = h('div', h('p.waiting', 'Counting…'));
  const buttons = SPANS.map((span) => h('button', { type: 'button', 'aria-pressed': String(span === days), onclick: () => turn(span) }, `${span} days`));
  fill(root, h('div.page.activity', h('div.row.spread', h('h1', 'Activity'), h('div.row.spans', { role: 'group', 'aria-label': 'How far back' }, buttons)),
    h('p.lead.muted', 'What tools did in this vault and what models cost. It is counted on this machine and stays here.'), status, body));

  function turn(span) {
    days = span;
    buttons.forEach((button, at) => button.setAttribute('aria-pressed', String(SPANS[at] === span)));
    load().then(() => { status.textContent = `The last ${span} days are shown.`; }, trouble);
  }

  async function load() {
    const mine = days;
    const answer = await get('/api/activity', { days });
    if (mine === days) draw(answer);
  }

  function draw(answer) {
    const open = new Set([...body.querySelectorAll('details[open]')].map((details) => details.closest('figure')?.querySelector('h2')?.textContent));
    const sum = (key) => answer.days.reduce((all, day) => all + (day[key] ?? 0), 0);
    const tokens = sum('tokens_in') + sum('tokens_out');
    if (!sum('calls') && !tokens) {
      fill(body, h('div.empty', h('h2', 'Nothing happened in this time'), h('p', 'As soon as an agent, a program or you use a tool on this vault, the days are drawn here.'), h('p', h('a.button', { href: '#/chat' }, 'Begin a conversation'))));
      return;
    }
    fill(body,
      h('ul.totals',
        total(short(sum('calls')), 'calls'), total(short(sum('changes')), 'changes', '#/changes'),
        total(short(tokens), 'tokens'), total(money(sum('dollars')), sum('unpriced') ? `spent, ${count(sum('unpriced'), 'answer')} without a price` : 'spent'), total(short(sum('refused')), 'refused')),
      h('div.plots',
        dayPlot({ title: 'Calls', days: answer.days, series: [{ name: 'calls', key: 'calls', className: 'one' }], format: short }),
        dayPlot({ title: 'Changes', days: answer.days, series: [{ name: 'changes', key: 'changes', className: 'one' }], format: short }),
        dayPlot({ title: 'Tokens', days: answer.days, series: [{ name: 'in', key: 'tokens_in', className: 'one' }, { name: 'out', key: 'tokens_out', className: 'two' }], format: short }),
        dayPlot({ title: 'Money', days: answer.days, series: [{ name: 'US dollars', key: 'dollars', className: 'one' }], format: money, whole: false }),
        namePlot({ title: 'Busiest tools', head: ['Tool', 'Calls', 'Not carried out'], rows: answer.tools.map((tool) => ({ name: tool.name, value: tool.calls, other: tool.failed })), empty: 'No tool was called.' }),
        namePlot({ title: 'Who', head: ['Agent or program', 'Calls', 'Changes'], rows: answer.agents.map((agent) => ({ name: WHO[agent.name] ?? agent.name, value: agent.calls, other: agent.changes })), empty: 'Nobody called.' }),
        dayPlot({ title: 'Refused', days: answer.days, series: [{ name: 'refused', key: 'refused', className: 'bad' }], format: short }),
        namePlot({ title: 'Why calls were refused', head: ['Reason', 'Calls'], rows: answer.reasons.map((reason) => ({ name: reason.name.replaceAll('_', ' '), value: reason.calls })), empty: 'Nothing was refused.' })));
    for (const figure of body.querySelectorAll('figure')) if (open.has(figure.querySelector('h2').textContent)) figure.querySelector('details')?.setAttribute('open', '');
  }

  const total = (value, name, href) => h('li.card', h('strong', value), href ? h('a', { href }, name) : h('span.muted', name));

  await load();
  let seen = null;
  const again = later(2000, () => load().catch(() => {}));
  return live.on('pulse', (pulse) => {
    const now = `${pulse.notes} ${pulse.chats}`;
    if (seen !== null && now !== seen) again();
    seen = now;
  });
}
