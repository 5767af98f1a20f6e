// What a conversation has used: tokens, money, and how full the model's window is.
import { fill, h } from '../dom.js';

const short = (number) => (number < 1000 ? String(number) : number < 1e6 ? `${(number / 1000).toFixed(number < 1e4 ? 1 : 0)}k` : `${(number / 1e6).toFixed(1)}M`);

/** Money: small sums with more places. */
export function money(dollars) {
  if (dollars === 0) return '$0';
  return `$${dollars < 0.01 ? dollars.toFixed(4) : dollars.toFixed(2)}`;
}

export function meter() {
  const element = h('p.meter', { hidden: true });
  const update = (used) => {
    element.hidden = !used?.tokens;
    if (!used?.tokens) return;
    const price = used.unpriced || used.dollars === null || used.dollars === undefined ? 'price unknown' : money(used.dollars);
    const full = typeof used.window === 'number' ? Math.round(used.window) : null;
    element.classList.toggle('full', full >= 80);
    fill(element,
      h('span', { title: `${used.tokens.toLocaleString('en')} tokens so far` }, `${short(used.tokens)} tokens`),
      h('span', { title: used.unpriced ? 'No price is known for this model; see the settings' : 'What this conversation has cost so far' }, price),
      full !== null && h('span', { title: `The model's window is ${full} % full${full >= 80 ? '; the conversation is made shorter by itself, or by /shorten' : ''}` },
        h('progress', { max: '100', value: full, 'aria-hidden': 'true' }), `window ${full} %`));
  };
  return { element, update };
}
