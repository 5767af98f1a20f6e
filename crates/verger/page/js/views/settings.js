// Settings: sections in a list at the side (a select on a phone), each with what it is about in plain words.
import { fill, h, icon } from '../dom.js';
import { get } from '../api.js';
import * as live from '../live.js';
import { trouble } from '../toast.js';

const SECTIONS = [
  { slug: 'models', name: 'Models', icon: 'think', load: () => import('./settings/models.js') },
  { slug: 'approval', name: 'What is asked', icon: 'check', load: () => import('./settings/approval.js') },
  { slug: 'policy', name: 'What may be touched', icon: 'folder', load: () => import('./settings/policy.js') },
  { slug: 'grants', name: 'Standing grants', icon: 'key', load: () => import('./settings/grants.js') },
  { slug: 'agents', name: 'Agents and skills', icon: 'chat', load: () => import('./settings/agents.js') },
  { slug: 'servers', name: 'Other programs', icon: 'tool', load: () => import('./settings/servers.js') },
  { slug: 'limits', name: 'Turns and history', icon: 'activity', load: () => import('./settings/limits.js') },
  { slug: 'look', name: 'Look', icon: 'sun', load: () => import('./settings/look.js') },
  { slug: 'doctor', name: 'Is all well?', icon: 'health', load: () => import('./settings/doctor.js') },
];

export async function mount(root, { rest, query }) {
  const [slug] = rest.split('/');
  const section = SECTIONS.find((known) => known.slug === slug) ?? SECTIONS[0];
  const place = h('div.settings-body', h('p.waiting', `Opening ${section.name}…`));
  const select = h('select', { 'aria-label': 'Section', onchange: () => { location.hash = `#/settings/${select.value}`; } },
    SECTIONS.map((known) => h('option', { value: known.slug, selected: known === section }, known.name)));
  fill(root, h('div.settings',
    h('nav.settings-side', { 'aria-label': 'Sections of the settings' },
      h('ul', SECTIONS.map((known) => h('li', h('a', { href: `#/settings/${known.slug}`, 'aria-current': known === section ? 'page' : false }, icon(known.icon), known.name)))), select),
    h('div.settings-main', h('h1', section.name), place)));
  const module = await section.load();
  let busy = false;
  const draw = async () => {
    if (busy) return;
    busy = true;
    try {
      const settings = await get('/api/settings');
      const kept = document.activeElement?.id;
      const made = await module.make({ settings, query, draw });
      fill(place, settings.broken && h('div.note-box.bad', { role: 'alert' }, h('p', settings.broken.message), h('p', settings.broken.hint)), made);
      if (kept) document.getElementById(kept)?.focus();
    } catch (problem) {
      if (!place.querySelector('.settings-part')) {
        fill(place, h('div.note-box.bad', { role: 'alert' }, h('p', problem.message), h('p', problem.hint), h('button', { type: 'button', onclick: draw }, 'Try again')));
      } else trouble(problem);
    } finally {
      busy = false;
    }
  };
  await draw();
  let seen = null;
  return live.on('pulse', (pulse) => {
    // Another window or the command line changed something; whoever types here is left alone.
    if (seen !== null && pulse.settings !== seen && !place.contains(document.activeElement)) draw();
    seen = pulse.settings;
  });
}
