// Short words at the edge: what was done, what went wrong and what to do about it.
import { h, icon } from './dom.js';

export function toast(text, { hint, kind = 'good', action } = {}) {
  const region = document.getElementById('toasts');
  const close = () => box.remove();
  const box = h(`div.toast.${kind}`, h('div', h('p', text), hint && h('p.muted', hint)),
    action && h('button.quiet', { type: 'button', onclick: () => { close(); action.run(); } }, action.name),
    h('button.quiet.icon', { type: 'button', 'aria-label': 'Close this message', onclick: close }, icon('close')));
  region.append(box);
  while (region.children.length > 4) region.firstChild.remove();
  // One with something to do in it stays until it is closed or pushed out by others.
  if (kind === 'good' && !action) setTimeout(close, 6000);
  return close;
}

/** Says what went wrong. A request that was called off is nothing that went wrong. */
export function trouble(problem) {
  if (problem?.name === 'AbortError' || problem?.reason === 'not_logged_in') return;
  toast(problem?.message ?? String(problem), { hint: problem?.hint, kind: 'bad' });
}
