// Agents, skills, rules and workflows: what each may do, and whether it is trusted.
import { h, icon } from '../../dom.js';
import { get, post } from '../../api.js';
import { openDialog } from '../../dialog.js';
import { toast, trouble } from '../../toast.js';
import { field, part, settingsForm, written } from './form.js';

const KINDS = [['skill', 'Skills', 'What the agent can be taught: a folder with a SKILL.md. Its programs are never run.'], ['rule', 'Rules', 'Words that stand in every conversation.'], ['workflow', 'Workflows', 'What runs when you type its name behind a slash.'], ['agent', 'Agents in files', 'Agents that somebody wrote: you, or whoever made this vault.']];
const SOURCE = { 'built-in': 'comes with Verger', global: 'your own', vault: 'from this vault' };

export async function make({ settings, draw }) {
  const { agents, texts, problems, left_out: leftOut } = await get('/api/settings/texts');
  const waiting = texts.filter((text) => text.state === 'new' || text.state === 'changed');
  return [
    waiting.length > 0 && h('p.note-box.warn', icon('warn'), ` ${waiting.length} ${waiting.length === 1 ? 'text waits' : 'texts wait'} for your word. What is not trusted is not used.`),
    part('Who speaks', 'An agent is a way to speak and a set of rights. The one chosen here answers when you name none.',
      settingsForm([field({ path: ['chat', 'agent'], label: 'When none is named', help: 'It holds at once, for new conversations.', kind: 'select', options: [['', 'agent (as built in)'], ...agents.filter((agent) => agent.slug !== 'agent').map((agent) => [agent.slug, agent.name])], value: written(settings, ['chat', 'agent']) })], draw),
      h('ul.plain.cards', agents.map((agent) => h('li.card', h('div.row.spread', h('h3', agent.name), h('span.chip', SOURCE[agent.source])), h('p.muted.small', agent.about),
        h('ul.rights', agent.rights.map((right) => h('li', right))), agent.model && h('p.muted.small', `speaks with ${agent.model}`), agent.waiting && h('p.small.bad-text', 'The vault has another version of it, which waits for trust.'))))),
    ...KINDS.map(([kind, title, about]) => {
      const rows = texts.filter((text) => text.kind === kind);
      if (kind === 'agent' && !rows.length) return null;
      return part(title, about, rows.length ? h('ul.plain.rows', rows.map((text) => row(text, draw))) : h('p.muted', `There are none. Put them into .verger/${kind}s of the vault, or ${kind}s beside config.toml.`));
    }),
    (problems.length > 0 || leftOut.length > 0) && part('Files that cannot be used', null, h('ul.plain.rows', problems.map((problem) => h('li', h('code', problem.path), h('div.small', problem.why), h('div.muted.small', problem.hint))), leftOut.map((left) => h('li', h('code', left.path), h('div.small', left.why))))),
  ];
}

/** Long lists of tools are counted here; they stand whole behind “Look”. */
const short = (line) => line.replace(/: (.+)$/, (whole, names) => (names.split(', ').length > 3 ? ` ${names.split(', ').length} tools` : whole));

function row(text, draw) {
  const good = text.state === 'own' || text.state === 'trusted';
  return h('li.row', h('div.grow', h('strong', text.name), h('div.muted.small', `${SOURCE[text.origin]} · ${text.path}${text.from ? ` · from ${text.from}` : ''}`), h('div.small', text.can.map(short).join(' · '))),
    h(`span.chip${good ? '.good' : '.warn'}`, text.state === 'own' ? 'your own' : text.state_words), h('button.small', { type: 'button', 'aria-label': `Look at ${text.name}`, onclick: () => look(text, draw) }, 'Look'));
}

/** Shows a text whole; a person trusts what they have seen. */
async function look(text, draw) {
  try {
    const whole = await post('/api/settings/texts/show', { path: text.path, origin: text.origin });
    const said = await openDialog({ title: whole.name, className: 'wide', make: (close) => [
      h('div.dialog-body', h('p.muted', `${SOURCE[whole.origin]} · ${whole.path}`), whole.can.length > 0 && h('ul.rights', whole.can.map((line) => h('li', line))), whole.files.length > 0 && h('p.small', `Files beside it: ${whole.files.join(', ')}`), h('pre.whole', { tabindex: 0, 'aria-label': 'Its text' }, whole.text)),
      h('footer.dialog-foot', h('button.quiet', { type: 'button', onclick: () => close(undefined) }, 'Close'),
        whole.state === 'trusted' && h('button.danger', { type: 'button', onclick: () => close(false) }, 'Do not trust it any more'),
        (whole.state === 'new' || whole.state === 'changed') && h('button.main', { type: 'button', onclick: () => close(true) }, 'Trust it as it is')),
    ] });
    if (said === undefined) return;
    const { done } = await post('/api/settings/trust', { path: whole.path, origin: whole.origin, seal: whole.seal, trust: said });
    toast(done.text);
    await draw();
  } catch (problem) {
    trouble(problem);
  }
}
