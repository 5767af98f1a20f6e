// Differences between two texts.
import { h } from './dom.js';

/** The difference in one file. */
export function diffView(file) {
  const rows = (file.diff ?? '').split('\n').filter((line, at, all) => at < all.length - 1 || line);
  const kind = (line) => (line.startsWith('@@') ? 'gap' : line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : 'same');
  const shown = rows.filter((line) => !/^(---|\+\+\+) /.test(line));
  return h('div.diff', h('table', h('tbody', shown.map((line) => h(`tr.${kind(line)}`, h('td', line))))));
}

/** The files of a change. */
export function diffList(files) {
  return h('div.diff-list', files.map((file) => h('details', { open: files.length < 4 }, h('summary', `${file.path} +${file.added} −${file.removed}`), diffView(file))));
}
