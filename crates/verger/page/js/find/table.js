// A table that a query or a base answered with: sorted by a click, copied as CSV.
import { count, fill, h, icon } from '../dom.js';
import { setMarkup } from '../markup.js';
import { toast, trouble } from '../toast.js';

const words = new Intl.Collator('en', { numeric: true, sensitivity: 'base' });
const quoted = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** Shows {columns, rows}, whose cells are HTML of the server. */
export function tableView(table) {
  if (!table?.rows.length) return h('p.muted', 'No rows.');
  const rows = table.rows.map((row) => row.map((html) => setMarkup(h('td'), html)));
  let sorted = { column: -1, down: false };
  const body = h('tbody');
  const heads = table.columns.map((name, column) => h('th', { scope: 'col', 'aria-sort': 'none' },
    h('button.quiet.small', { type: 'button', onclick: () => sort(column) }, name ? setMarkup(h('span'), name) : '·')));
  const draw = () => fill(body, rows.map((cells) => h('tr', cells)));
  function sort(column) {
    sorted = { column, down: sorted.column === column && !sorted.down };
    const way = sorted.down ? -1 : 1;
    rows.sort((a, b) => way * words.compare(a[column]?.textContent ?? '', b[column]?.textContent ?? ''));
    heads.forEach((head, index) => head.setAttribute('aria-sort', index !== column ? 'none' : sorted.down ? 'descending' : 'ascending'));
    draw();
  }
  const csv = () => [heads.map((head) => head.textContent), ...rows.map((cells) => cells.map((cell) => cell.textContent))].map((row) => row.map(quoted).join(',')).join('\r\n');
  const copy = () => navigator.clipboard.writeText(csv()).then(() => toast('Table copied as CSV'), () => trouble(new Error('The browser did not allow copying')));
  draw();
  const more = table.total > table.rows.length ? `The first ${table.rows.length.toLocaleString('en')} of ${count(table.total, 'row')}.` : '';
  return h('div.result-table', h('div.row.spread', h('p.muted.small', more),
    h('button.small', { type: 'button', onclick: copy }, icon('copy'), 'Copy as CSV')),
  h('div.table-scroll', { tabindex: '0', role: 'region', 'aria-label': 'Result' }, h('table', h('thead', h('tr', heads)), body)));
}
