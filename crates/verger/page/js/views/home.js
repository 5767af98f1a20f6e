// Home: where a newcomer starts. What is here, what can be done without a model, and how to get one.
import { count, fill, h, icon } from '../dom.js';
import { get } from '../api.js';

export async function mount(root) {
  const about = await get('/api/about');
  fill(root, h('div.page.home',
    h('h1', about.vault),
    h('p.lead', `${count(about.notes, 'note')}, ${count(about.changes, 'change')} that can be taken back.`),
    h('ul.tiles', h('li', h('a', { href: '#/settings' }, icon('settings'), about.model ?? 'No model yet')))));
}
