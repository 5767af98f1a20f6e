// What stands beside a note: properties, outline, links in and out.
import { count, fill, h, icon } from '../dom.js';
import { setMarkup } from '../markup.js';
import { pageOf } from './address.js';

function value(property) {
  if (property.kind === 'list') return property.html.length ? h('ul.plain', property.html.map((html) => setMarkup(h('li'), html))) : h('span.muted', 'nothing');
  if (property.kind === 'checkbox') return h('span', property.value ? 'yes' : 'no');
  if (property.kind === 'empty') return h('span.muted', 'nothing');
  if (property.kind === 'object') return h('code', JSON.stringify(property.value));
  if (property.html !== undefined) return setMarkup(h('span'), property.html);
  return h('span', String(property.value));
}

const part = (name, open, number, ...children) => h('details.side-part', { open }, h('summary', h('h2', name), number !== null && h('span.muted.small', String(number))), children);

function properties(note) {
  if (!note.properties?.length && !note.tags.length) return null;
  const tags = note.tags.map((tag) => h('li', h('a.tag', { href: `#/find?q=${encodeURIComponent(`tag:${tag}`)}` }, `#${tag}`)));
  return part('Properties', true, null,
    note.properties?.length > 0 && h('dl.properties', note.properties.map((property) => [h('dt', property.name), h(`dd.kind-${property.kind}`, value(property))])),
    tags.length > 0 && h('ul.plain.tags', { 'aria-label': 'Tags' }, tags));
}

function outline(note, go) {
  if (!note.outline?.length) return null;
  const least = Math.min(...note.outline.map((heading) => heading.level));
  return part('Outline', true, null, h('ol.plain.outline', note.outline.map((heading) => h('li', { class: `depth-${Math.min(heading.level - least, 4)}` },
    h('a', { href: pageOf(note.path, { h: heading.id }), dataset: { id: heading.id }, onclick: (event) => { event.preventDefault(); go(heading.id); } }, heading.text || '(no text)')))));
}

function backlinks(note) {
  const more = note.backlinks_total - note.backlinks.length;
  return part('Links here', true, note.backlinks_total,
    note.backlinks.length ? h('ul.plain.backlinks', note.backlinks.map((link) => h('li', h('a', { href: pageOf(link.path) }, link.name),
      link.lines.map((line) => setMarkup(h('p.small.muted'), line.html)), link.count > link.lines.length && h('p.small.muted', `and ${count(link.count - link.lines.length, 'more line', 'more lines')}`))))
      : h('p.muted.small', 'No other note links here yet.'),
    more > 0 && h('p.muted.small', `and ${count(more, 'more note')}`));
}

function outgoing(note) {
  if (!note.outgoing.length) return null;
  return part('Links from here', false, note.outgoing.length, h('ul.plain', note.outgoing.map((link) => h('li',
    link.path ? h('a', { href: pageOf(link.path) }, link.text) : h('span.muted', icon('warn'), ` ${link.text} (does not exist)`)))));
}

/** Fills the column. Returns how to say which heading is being read. */
export function showSide(side, note, go) {
  fill(side, properties(note), outline(note, go), backlinks(note), outgoing(note));
  let last = null;
  return (id) => {
    if (id === last) return;
    last = id;
    for (const link of side.querySelectorAll('.outline a')) {
      const here = link.dataset.id === id;
      link.toggleAttribute('aria-current', here);
      if (here) link.setAttribute('aria-current', 'location');
    }
  };
}
