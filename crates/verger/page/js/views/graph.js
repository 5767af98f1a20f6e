// The graph of links: a picture that can be walked through by mouse, touch and keyboard, and the same as a list.
import { pageOf } from '../notes/address.js';
import { count, fill, h, icon, later } from '../dom.js';
import { get } from '../api.js';
import { layoutWorker } from '../markup.js';
import { Drawing } from '../graph/draw.js';
import { offer } from '../palette.js';

const GROUPS = 8;
const ROWS = 200;
const topFolder = (node) => node.folder.split('/')[0] || 'no folder';
const topTag = (node) => (node.tag ? `#${node.tag.split('/')[0]}` : 'no tag');

export async function mount(root, { query }) {
  const path = query.get('path');
  const depth = Math.min(4, Math.max(1, Number(query.get('depth')) || 2));
  fill(root, h('div.page', h('h1', 'Graph'), h('p.waiting', 'Reading the links…')));
  const answer = path
    ? await get('/api/graph/around', { path, depth })
    : await get('/api/graph', { folder: query.get('folder') ?? undefined, tag: query.get('tag') ?? undefined, orphans: query.get('orphans') ?? undefined });
  if (!answer.nodes.length) {
    fill(root, h('div.page', h('h1', 'Graph'), h('div.empty', h('h2', 'No notes to draw'), h('p', 'Every note is a dot here, and every link between two notes a line. Write a note that links to another, [[like this]].'), h('p', h('a.button', { href: '#/graph' }, 'Show the whole graph')))));
    return undefined;
  }
  return show(root, answer, { path, depth, query });
}

function show(root, answer, place) {
  const graph = { nodes: answer.nodes, edges: Uint32Array.from(answer.edges.flat()) };
  const canvas = h('canvas.graph-canvas', { tabindex: '0', role: 'application', 'aria-roledescription': 'graph', 'aria-describedby': 'graph-keys',
    'aria-label': `Graph of ${count(graph.nodes.length, 'note')} and ${count(graph.edges.length / 2, 'link')}` });
  const said = h('p.visually-hidden', { 'aria-live': 'polite' });
  const state = h('span.small.muted', { role: 'status' }, 'Laying out…');
  const legend = h('ul.graph-legend');
  const card = h('aside.card.graph-card', { 'aria-label': 'Chosen note', hidden: true });
  const table = h('div.graph-list', { hidden: true });
  const search = h('input', { type: 'search', placeholder: 'Find a note', 'aria-label': 'Find a note in the graph', oninput: later(120, find) });
  const by = h('select', { 'aria-label': 'Colour by', onchange: paint }, h('option', { value: 'folder' }, 'Colour by folder'), h('option', { value: 'tag' }, 'Colour by tag'));
  const asList = h('button', { type: 'button', 'aria-pressed': 'false', onclick: () => flip(table.hidden) }, 'As a list');
  fill(root, h('div.graph',
    h('header.graph-head',
      h('h1', place.path ? `Around ${place.path.split('/').pop().replace(/\.md$/, '')}` : 'Graph'),
      search, by,
      place.path && h('label.row', 'Links away', h('select', { onchange: (event) => { location.hash = `#/graph?path=${encodeURIComponent(place.path)}&depth=${event.target.value}`; } },
        [1, 2, 3, 4].map((number) => h('option', { value: number, selected: number === place.depth }, String(number))))),
      place.path && h('a.button', { href: '#/graph' }, 'Whole graph'),
      !place.path && h('label.row', h('input', { type: 'checkbox', checked: place.query.get('orphans') !== 'false', onchange: (event) => turnOrphans(event.target.checked) }), 'notes without links'),
      asList,
      h('details.graph-more', h('summary.button', 'Save'), h('div.card', h('button.quiet', { type: 'button', onclick: savePng }, 'as PNG'), h('button.quiet', { type: 'button', onclick: saveSvg }, 'as SVG')))),
    h('div.graph-stage',
      canvas, legend, card,
      h('div.graph-tools', h('button.icon', { type: 'button', 'aria-label': 'Nearer', onclick: () => drawing.zoom(1.4) }, icon('plus')),
        h('button.icon', { type: 'button', 'aria-label': 'Farther', onclick: () => drawing.zoom(1 / 1.4) }, '−'),
        h('button', { type: 'button', onclick: () => drawing.fit() }, 'Fit')),
      h('p.graph-foot.small.muted', answer.cut ? `The ${count(graph.nodes.length, 'note')} with the most links, of ${answer.total.toLocaleString('en')}. ` : `${count(graph.nodes.length, 'note')}, ${count(graph.edges.length / 2, 'link')}. `, state)),
    table, said,
    h('p.visually-hidden#graph-keys', 'Arrow keys go from a note to a linked one, Enter shows it, plus and minus zoom, 0 fits everything, Escape lets go. The same notes are there as a list.')));

  const colours = { members: [], groups: [] };
  const drawing = new Drawing(canvas, graph, colours);
  drawing.following = true;
  paint();

  const quiet = matchMedia('(prefers-reduced-motion: reduce)').matches;
  const worker = layoutWorker();
  worker.onmessage = ({ data }) => {
    drawing.setPlaces(data.places, !data.settled);
    state.textContent = data.settled ? '' : 'Laying out…';
    if (data.settled) canvas.dataset.settled = `${data.ms} ms, ${data.rounds} rounds`;
  };
  worker.onerror = () => { state.textContent = 'The layout stopped; load the page again.'; };
  worker.postMessage({ kind: 'begin', count: graph.nodes.length, edges: graph.edges, quiet });

  let chosen = -1;
  function paint() {
    const style = getComputedStyle(root);
    const value = (name) => style.getPropertyValue(name).trim();
    Object.assign(colours, { line: value('--line-strong'), ink: value('--ink'), muted: value('--muted'), accent: value('--accent'), panel: value('--bg') });
    const group = by.value === 'tag' ? topTag : topFolder;
    const sizes = new Map();
    for (const node of graph.nodes) sizes.set(group(node), (sizes.get(group(node)) ?? 0) + 1);
    const names = [...sizes].sort((a, b) => b[1] - a[1]).map(([name]) => name);
    const shown = names.slice(0, names.length > GROUPS ? GROUPS - 1 : GROUPS);
    const place = new Map(shown.map((name, at) => [name, at]));
    colours.members = [...shown, ...(names.length > shown.length ? ['others'] : [])].map(() => []);
    graph.nodes.forEach((node, at) => colours.members[place.get(group(node)) ?? shown.length].push(at));
    colours.groups = colours.members.map((_, at) => (at < shown.length ? value(`--group-${at}`) : colours.muted));
    fill(legend, colours.members.map((members, at) => {
      const swatch = h('span.swatch');
      swatch.style.background = colours.groups[at];
      return h('li', swatch, h('span.clip', shown[at] ?? 'others'), h('span.muted', String(members.length)));
    }));
    drawing.backAt = null;
    drawing.ask();
  }

  function find() {
    const words = search.value.trim().toLowerCase();
    const hits = words ? new Set(graph.nodes.flatMap((node, at) => (node.name.toLowerCase().includes(words) ? [at] : []))) : null;
    drawing.setFocus(-1);
    drawing.setHits(hits);
    said.textContent = hits ? `${count(hits.size, 'note')} found` : '';
    if (!table.hidden) drawTable();
  }
  search.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || !drawing.hits?.size) return;
    event.preventDefault();
    choose([...drawing.hits].sort((a, b) => graph.nodes[b].links - graph.nodes[a].links)[0]);
  });

  function choose(at) {
    chosen = at;
    drawing.setFocus(at);
    if (at < 0) {
      card.hidden = true;
      return;
    }
    drawing.reveal(at);
    const node = graph.nodes[at];
    const near = [...drawing.near(at)].sort((a, b) => graph.nodes[b].links - graph.nodes[a].links);
    said.textContent = `${node.name}, ${count(node.links, 'link')}`;
    card.hidden = false;
    fill(card,
      h('header.row.spread', h('h2', node.name), h('button.quiet.icon', { type: 'button', 'aria-label': 'Let go of this note', onclick: () => { choose(-1); canvas.focus(); } }, icon('close'))),
      h('p.small.muted', node.folder || 'not in a folder', node.tag && ` · #${node.tag}`),
      h('p.row', h('a.button.main', { href: pageOf(node.path) }, 'Open'), h('a.button', { href: `#/graph?path=${encodeURIComponent(node.path)}&depth=2` }, 'Around it')),
      h('h3', count(node.links, 'linked note')),
      h('ul.plain', near.slice(0, 40).map((other) => h('li', h('button.quiet.small', { type: 'button', onclick: () => choose(other) }, graph.nodes[other].name)))),
      near.length > 40 && h('p.small.muted', `and ${near.length - 40} more`));
  }

  /* Mouse and touch: drag the ground to pan, a note to move it, wheel or two fingers to zoom. */
  const fingers = new Map();
  let drag = null;
  const spot = (event) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
  canvas.addEventListener('pointerdown', (event) => {
    canvas.setPointerCapture(event.pointerId);
    const [x, y] = spot(event);
    fingers.set(event.pointerId, [x, y]);
    drag = { x, y, at: fingers.size === 1 ? drawing.at(x, y) : -1, moved: false };
  });
  canvas.addEventListener('pointermove', (event) => {
    const [x, y] = spot(event);
    const before = fingers.get(event.pointerId);
    if (!before) {
      if (chosen < 0) drawing.setFocus(drawing.at(x, y));
      canvas.classList.toggle('over', drawing.focus >= 0);
      return;
    }
    fingers.set(event.pointerId, [x, y]);
    if (fingers.size === 2) {
      const [[ax, ay], [bx, by]] = [...fingers.values()];
      const [ox, oy] = [...fingers].find(([id]) => id !== event.pointerId)[1];
      drawing.zoom(Math.hypot(ax - bx, ay - by) / Math.max(1, Math.hypot(before[0] - ox, before[1] - oy)), (ax + bx) / 2, (ay + by) / 2);
      return;
    }
    drag.moved ||= Math.hypot(x - drag.x, y - drag.y) > 4;
    if (!drag.moved) return;
    if (drag.at >= 0) {
      const [toX, toY] = drawing.world(x, y);
      drawing.following = false;
      if (quiet) { drawing.places[2 * drag.at] = toX; drawing.places[2 * drag.at + 1] = toY; drawing.backAt = null; drawing.ask(); } else worker.postMessage({ kind: 'hold', at: drag.at, toX, toY });
    } else drawing.pan(x - before[0], y - before[1]);
  });
  const lift = (event) => {
    fingers.delete(event.pointerId);
    if (!drag) return;
    if (drag.moved && drag.at >= 0) worker.postMessage({ kind: 'drop' });
    else if (!drag.moved && event.type === 'pointerup') choose(drag.at);
    drag = null;
  };
  canvas.addEventListener('pointerup', lift);
  canvas.addEventListener('pointercancel', lift);
  canvas.addEventListener('pointerleave', () => { if (chosen < 0 && !drag) drawing.setFocus(-1); });
  canvas.addEventListener('wheel', (event) => {
    event.preventDefault();
    drawing.zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0015)), ...spot(event));
  }, { passive: false });
  canvas.addEventListener('dblclick', () => { if (chosen >= 0) location.hash = pageOf(graph.nodes[chosen].path); });

  /* Keyboard: to the linked note that lies most in that direction. */
  const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  canvas.addEventListener('keydown', (event) => {
    const arrow = ARROWS[event.key];
    if (arrow) {
      event.preventDefault();
      if (chosen < 0) choose(drawing.byRank[0]);
      else choose(towards(chosen, arrow));
    } else if (event.key === 'Enter' && chosen >= 0) card.querySelector('a')?.focus();
    else if (event.key === 'Escape') choose(-1);
    else if (event.key === '+' || event.key === '=') drawing.zoom(1.25);
    else if (event.key === '-') drawing.zoom(0.8);
    else if (event.key === '0') drawing.fit();
  });
  function towards(from, [dx, dy]) {
    const [x, y] = drawing.screen(from);
    let best = from;
    let most = 0.2;
    for (const other of drawing.near(from)) {
      const [ox, oy] = drawing.screen(other);
      const far = Math.hypot(ox - x, oy - y) || 1;
      const fit = ((ox - x) * dx + (oy - y) * dy) / far;
      if (fit - far / 4000 > most) { most = fit - far / 4000; best = other; }
    }
    return best;
  }

  /* The same as a list. */
  let rows = ROWS;
  function flip(on) {
    table.hidden = !on;
    root.querySelector('.graph-stage').hidden = on;
    asList.setAttribute('aria-pressed', String(on));
    if (on) { rows = ROWS; drawTable(); } else drawing.resize();
  }
  function drawTable() {
    const all = drawing.byRank.filter((at) => !drawing.hits || drawing.hits.has(at));
    fill(table, h('table', h('caption.visually-hidden', 'Notes and how many links they have'),
      h('thead', h('tr', h('th', { scope: 'col' }, 'Note'), h('th', { scope: 'col' }, 'Folder'), h('th.number', { scope: 'col' }, 'Links'), h('th', { scope: 'col' }, 'Linked with'))),
      h('tbody', all.slice(0, rows).map((at) => h('tr', h('th', { scope: 'row' }, h('a', { href: pageOf(graph.nodes[at].path) }, graph.nodes[at].name)), h('td', graph.nodes[at].folder || '–'), h('td.number', String(graph.nodes[at].links)),
        h('td.small', drawing.near(at).slice(0, 4).map((other) => graph.nodes[other].name).join(', '), drawing.near(at).length > 4 && ` and ${drawing.near(at).length - 4} more`))))),
    all.length > rows && h('p', h('button', { type: 'button', onclick: () => { rows += ROWS; drawTable(); } }, `Show ${Math.min(ROWS, all.length - rows)} more of ${all.length.toLocaleString('en')}`)));
  }

  function turnOrphans(on) {
    const asked = new URLSearchParams(place.query);
    if (on) asked.delete('orphans');
    else asked.set('orphans', 'false');
    location.hash = `#/graph${asked.size ? `?${asked}` : ''}`;
  }
  function save(blob, ending) {
    const link = h('a', { href: URL.createObjectURL(blob), download: `graph.${ending}` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }
  function savePng() {
    const whole = h('canvas', { width: canvas.width, height: canvas.height });
    const pen = whole.getContext('2d');
    pen.fillStyle = colours.panel;
    pen.fillRect(0, 0, whole.width, whole.height);
    pen.drawImage(canvas, 0, 0);
    whole.toBlob((blob) => blob && save(blob, 'png'), 'image/png');
  }
  function saveSvg() {
    save(new Blob([drawing.svg()], { type: 'image/svg+xml' }), 'svg');
  }

  const watcher = new ResizeObserver(() => { if (canvas.clientWidth) drawing.resize(); });
  watcher.observe(canvas);
  addEventListener('verger:theme', paint);
  const takeAway = offer('graph-fit', { name: 'Fit the graph into the picture', hint: 'graph', run: () => drawing.fit() });
  return () => {
    worker.terminate();
    watcher.disconnect();
    drawing.end();
    removeEventListener('verger:theme', paint);
    if (typeof takeAway === 'function') takeAway();
  };
}
