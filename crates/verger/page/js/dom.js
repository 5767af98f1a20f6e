// Making elements. Text is always text: nothing here parses markup.

/**
 * An element: h('button.quiet#id', {onclick, 'aria-label': 'x'}, 'text', child, [children]).
 * Functions become listeners, `true` an empty attribute, `false`, `null` and `undefined` nothing.
 */
export function h(what, ...rest) {
  const [, tag = 'div'] = /^([a-z0-9]+)/i.exec(what) ?? [];
  const element = document.createElement(tag);
  for (const [, kind, name] of what.matchAll(/([.#])([\w-]+)/g)) {
    if (kind === '#') element.id = name;
    else element.classList.add(name);
  }
  const [first] = rest;
  const hasProps = first && typeof first === 'object' && !Array.isArray(first) && !(first instanceof Node);
  if (hasProps) set(element, rest.shift());
  add(element, rest);
  return element;
}

/** Sets attributes, properties and listeners. */
export function set(element, props) {
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === 'function') element.addEventListener(name.replace(/^on/, ''), value);
    else if (name === 'dataset') Object.assign(element.dataset, value);
    else if (name === 'value' || name === 'checked' || name === 'selected' || name === 'indeterminate') element[name] = value;
    else element.setAttribute(name, value === true ? '' : value);
  }
  return element;
}

/** Adds children; what is nothing is left out. */
export function add(element, children) {
  for (const child of [children].flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    element.append(child);
  }
  return element;
}

/** Replaces what is inside. */
export function fill(element, ...children) {
  element.replaceChildren();
  return add(element, children);
}

const ICONS = {
  home: 'M3 11l9-8 9 8M5 10v10h5v-6h4v6h5V10',
  chat: 'M4 5h16v11H9l-5 4z',
  notes: 'M6 3h9l4 4v14H6zM14 3v5h5M9 12h7M9 16h7',
  find: 'M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13zM15.5 15.5L21 21',
  changes: 'M12 7v5l3 2M4.5 9A8 8 0 1 1 4 13M4 4v5h5',
  graph: 'M6 6l12 4M6 6l4 12M18 10l-8 8M6 6m-2 0a2 2 0 1 0 4 0 2 2 0 1 0-4 0M18 10m-2 0a2 2 0 1 0 4 0 2 2 0 1 0-4 0M10 18m-2 0a2 2 0 1 0 4 0 2 2 0 1 0-4 0',
  health: 'M3 12h4l2-5 4 10 2-5h6',
  activity: 'M4 20V10M10 20V4M16 20v-7M21 20H3',
  settings: 'M4 7h10M18 7h2M4 17h2M10 17h10M14 7a2 2 0 1 0 4 0 2 2 0 1 0-4 0M6 17a2 2 0 1 0 4 0 2 2 0 1 0-4 0',
  sun: 'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.5 1.5M17.5 17.5L19 19M19 5l-1.5 1.5M6.5 17.5L5 19',
  moon: 'M20 14A8 8 0 1 1 10 4a6.5 6.5 0 0 0 10 10z',
  more: 'M5 12h.01M12 12h.01M19 12h.01',
  close: 'M5 5l14 14M19 5L5 19',
  stop: 'M7 7h10v10H7z',
  send: 'M4 12l16-8-6 16-3-6z',
  undo: 'M9 7L4 12l5 5M4 12h10a6 6 0 0 1 6 6',
  attach: 'M8 12l6-6a3.5 3.5 0 0 1 5 5l-8 8a5 5 0 0 1-7-7l8-8',
  copy: 'M8 8h11v12H8zM5 16V4h11',
  edit: 'M4 20l1-5L16 4l4 4L9 19z',
  fork: 'M6 4v6a4 4 0 0 0 4 4h4a4 4 0 0 1 4 4v2M6 4v16',
  retry: 'M20 11a8 8 0 1 0-2 6M20 5v6h-6',
  plus: 'M12 5v14M5 12h14',
  folder: 'M3 6h6l2 3h10v10H3z',
  file: 'M6 3h9l4 4v14H6z',
  open: 'M14 4h6v6M20 4l-9 9M18 14v6H4V6h6',
  check: 'M4 12l5 5L20 6',
  warn: 'M12 4l9 16H3zM12 10v4M12 17h.01',
  trash: 'M5 7h14M9 7V4h6v3M7 7l1 13h8l1-13',
  key: 'M15 9m-4 0a4 4 0 1 0 8 0 4 4 0 1 0-8 0M12 12l-8 8M7 17l2 2',
  tag: 'M4 4h8l8 8-8 8-8-8zM8 8h.01',
  link: 'M10 14a4 4 0 0 0 6 0l3-3a4 4 0 0 0-6-6l-1 1M14 10a4 4 0 0 0-6 0l-3 3a4 4 0 0 0 6 6l1-1',
  back: 'M14 5l-7 7 7 7',
  right: 'M9 5l7 7-7 7',
  down: 'M5 9l7 7 7-7',
  think: 'M9 18h6M10 21h4M8 14a6 6 0 1 1 8 0c-1 1-1 2-1 3H9c0-1 0-2-1-3z',
  tool: 'M14 6a4 4 0 0 0-5 5l-6 6 3 3 6-6a4 4 0 0 0 5-5l-3 3-3-3z',
};

/** An icon; it says nothing to screen readers, so what holds it needs words. */
export function icon(name) {
  const space = 'http://www.w3.org/2000/svg';
  const svg = document.createElementNS(space, 'svg');
  for (const [key, value] of Object.entries({ viewBox: '0 0 24 24', class: 'icon', 'aria-hidden': 'true' })) svg.setAttribute(key, value);
  const path = document.createElementNS(space, 'path');
  path.setAttribute('d', ICONS[name] ?? '');
  svg.append(path);
  return svg;
}

/** "3 minutes ago", or the date when it is long ago. */
export function ago(ms) {
  const seconds = Math.round((Date.now() - ms) / 1000);
  if (seconds < 45) return 'just now';
  const words = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
  if (seconds < 3600) return words.format(-Math.round(seconds / 60), 'minute');
  if (seconds < 86400) return words.format(-Math.round(seconds / 3600), 'hour');
  if (seconds < 86400 * 14) return words.format(-Math.round(seconds / 86400), 'day');
  return new Date(ms).toLocaleDateString('en', { day: 'numeric', month: 'short', year: 'numeric' });
}

/** "1 note", "2 notes". */
export const count = (number, one, many = `${one}s`) => `${number.toLocaleString('en')} ${number === 1 ? one : many}`;

/** A function that runs once things have been quiet for so long. */
export function later(ms, work) {
  let timer;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...args), ms);
  };
}
