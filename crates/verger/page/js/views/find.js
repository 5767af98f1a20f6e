// Find.
import { fill, h } from '../dom.js';

export async function mount(root) {
  fill(root, h('div.page', h('h1', 'Find')));
}
