// Plots as SVG, made by hand: bars by day and bars by name. Each has a title and a description for those who do not see it, and the
// same numbers as a table.
import { fill, h } from './dom.js';

const SPACE = 'http://www.w3.org/2000/svg';
let last = 0;

function s(tag, props = {}, ...children) {
  const element = document.createElementNS(SPACE, tag);
  for (const [name, value] of Object.entries(props)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** A round number at or above this one, for the top of the scale. */
export function roundUp(value) {
  if (value <= 0) return 1;
  const size = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 2.5, 5, 10].map((step) => step * size).find((step) => step >= value * 0.999999);
}

/** Short words for a date: `14 Mar`. */
export const shortDate = (date) => new Date(`${date}T12:00`).toLocaleDateString('en', { day: 'numeric', month: 'short' });

/**
 * Bars by day. `series` is a list of {name, key, className}; several stand on one another. `whole` numbers get no half ticks.
 */
export function dayPlot({ title, days, series, format = (value) => value.toLocaleString('en'), whole = true }) {
  const [width, height, left, bottom, top] = [460, 176, 52, 26, 14];
  const sums = days.map((day) => series.reduce((sum, { key }) => sum + (day[key] ?? 0), 0));
  const most = roundUp(Math.max(...sums, 0));
  const step = (width - left - 14) / days.length;
  const scale = (value) => (value / most) * (height - bottom - top);
  const id = `plot-${++last}`;
  const total = sums.reduce((sum, value) => sum + value, 0);
  const best = days[sums.indexOf(Math.max(...sums))];
  const svg = s('svg', { viewBox: `0 0 ${width} ${height}`, class: 'plot', role: 'img', 'aria-labelledby': `${id}-t ${id}-d` },
    s('title', { id: `${id}-t` }, title),
    s('desc', { id: `${id}-d` }, total ? `${format(total)} in ${days.length} days; the most, ${format(Math.max(...sums))}, on ${shortDate(best.date)}.` : 'Nothing in this time.'));
  for (const part of [0, 0.5, 1]) {
    if (whole && !Number.isInteger(most * part)) continue;
    const y = height - bottom - scale(most * part);
    svg.append(s('line', { x1: left, x2: width, y1: y, y2: y, class: 'grid' }), s('text', { x: left - 6, y: y + 4, class: 'tick end' }, format(most * part)));
  }
  const every = Math.ceil(days.length / 5);
  days.forEach((day, at) => {
    let base = height - bottom;
    const x = left + at * step;
    const bar = s('g', {}, s('title', {}, `${shortDate(day.date)}: ${series.map(({ name, key }) => `${format(day[key] ?? 0)} ${name}`).join(', ')}`), s('rect', { x, y: top, width: step, height: height - bottom - top, class: 'hit' }));
    for (const { key, className } of series) {
      const size = scale(day[key] ?? 0);
      base -= size;
      if (size > 0) bar.append(s('rect', { x: x + step * 0.12, y: base, width: step * 0.76, height: Math.max(size, 1), class: `bar ${className}`, rx: Math.min(2, step / 6) }));
    }
    svg.append(bar);
    if ((days.length - 1 - at) % every === 0) svg.append(s('text', { x: x + step / 2, y: height - 6, class: 'tick' }, shortDate(day.date)));
  });
  return figure({ title, svg, series, head: ['Day', ...series.map(({ name }) => name)], rows: [...days].reverse().map((day) => [shortDate(day.date), ...series.map(({ key }) => format(day[key] ?? 0))]), total: total > 0 });
}

/** Bars by name, lying. `rows` is a list of {name, value, other, note}. */
export function namePlot({ title, rows, head, empty }) {
  if (!rows.length) return figure({ title, svg: h('p.muted', empty), series: [], head, rows: [], total: false });
  const most = Math.max(...rows.map((row) => row.value), 1);
  const list = h('ul.bars', { 'aria-hidden': 'true' }, rows.map((row) => {
    const bar = h('span.fill');
    bar.style.width = `${Math.max(1, (row.value / most) * 100)}%`;
    const part = row.other > 0 && h('span.fill.part');
    if (part) part.style.width = `${(row.other / most) * 100}%`;
    return h('li', h('span.clip', row.name), h('span.track', bar, part), h('span.number', row.value.toLocaleString('en')));
  }));
  return figure({ title, svg: list, series: [], head, rows: rows.map((row) => [row.name, row.value.toLocaleString('en'), ...(row.other === undefined ? [] : [row.other.toLocaleString('en')])]), total: true });
}

function figure({ title, svg, series, head, rows, total }) {
  const table = h('div.plot-table', { tabindex: '0', role: 'region', 'aria-label': `${title}, as a table` });
  const draw = () => {
    if (!table.childElementCount) fill(table, h('table', h('caption.visually-hidden', title), h('thead', h('tr', head.map((name, at) => h(at ? 'th.number' : 'th', { scope: 'col' }, name)))),
      h('tbody', rows.map(([first, ...others]) => h('tr', h('th', { scope: 'row' }, first), others.map((value) => h('td.number', value)))))));
  };
  return h('figure.card.plot-card', h('figcaption', h('h2', title), series.length > 1 && h('p.small.key', series.map(({ name, className }) => h('span', h(`span.swatch.${className}`), name)))),
    svg, total && h('details', { ontoggle: draw }, h('summary.small', 'As a table'), table));
}
