// A unified diff as rows, and the words that differ inside a changed line. Nothing here touches the page.

/**
 * Rows of a change: {kind: 'same'|'added'|'removed'|'gap', before, after, text}; `before` and `after` are line numbers.
 * A gap is what lies between two parts of the diff: {kind: 'gap', before, after, lines} where `lines` is how many, or null.
 */
export function rowsOf(file) {
  if (file.diff?.trim()) return parse(file.diff, file.cut ? null : lastLine(file.after));
  return whole(file);
}

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;

function parse(diff, total) {
  const rows = [];
  let before = 1;
  let after = 1;
  let left = 0;
  let right = 0;
  for (const line of diff.replace(/\n$/, '').split('\n')) {
    const hunk = HUNK.exec(line);
    if (hunk && left <= 0 && right <= 0) {
      const [oldLines, newLines] = [Number(hunk[2] ?? 1), Number(hunk[4] ?? 1)];
      // A part without lines on one side is named by the line before it.
      const [oldStart, newStart] = [Number(hunk[1]) + (oldLines ? 0 : 1), Number(hunk[3]) + (newLines ? 0 : 1)];
      if (newStart > after) rows.push({ kind: 'gap', before, after, lines: newStart - after });
      [before, after, left, right] = [oldStart, newStart, oldLines, newLines];
      continue;
    }
    if (left <= 0 && right <= 0) continue;
    const text = line.slice(1);
    if (line[0] === '+') { rows.push({ kind: 'added', after: after++, text }); right -= 1; }
    else if (line[0] === '-') { rows.push({ kind: 'removed', before: before++, text }); left -= 1; }
    else if (line[0] !== '\\') { rows.push({ kind: 'same', before: before++, after: after++, text }); left -= 1; right -= 1; }
  }
  if (rows.length && total !== null && after <= total) rows.push({ kind: 'gap', before, after, lines: total - after + 1 });
  return rows;
}

/** Without a diff: what is alike at the start and at the end is left out, the rest is taken away and put in. */
function whole({ before, after }) {
  const [old, young] = [linesOf(before), linesOf(after)];
  let start = 0;
  while (start < old.length && start < young.length && old[start] === young[start]) start += 1;
  let end = 0;
  while (end < old.length - start && end < young.length - start && old[old.length - 1 - end] === young[young.length - 1 - end]) end += 1;
  const rows = start ? [{ kind: 'gap', before: 1, after: 1, lines: start }] : [];
  old.slice(start, old.length - end).forEach((text, at) => rows.push({ kind: 'removed', before: start + at + 1, text }));
  young.slice(start, young.length - end).forEach((text, at) => rows.push({ kind: 'added', after: start + at + 1, text }));
  if (end && rows.some((row) => row.kind !== 'gap')) rows.push({ kind: 'gap', before: old.length - end + 1, after: young.length - end + 1, lines: end });
  return rows.some((row) => row.kind !== 'gap') ? rows : [];
}

/** The lines of a text; an end of line at its end begins no line. */
export function linesOf(text) {
  if (!text) return [];
  return text.replace(/\n$/, '').split('\n');
}
const lastLine = (text) => (typeof text === 'string' ? linesOf(text).length : null);

/** Puts removed and added lines side by side: [{left, right}], where each side is a row or null. */
export function pairs(rows) {
  const out = [];
  let removed = [];
  let added = [];
  const flush = () => {
    for (let at = 0; at < Math.max(removed.length, added.length); at += 1) out.push({ left: removed[at] ?? null, right: added[at] ?? null });
    removed = [];
    added = [];
  };
  for (const row of rows) {
    if (row.kind === 'removed') { if (added.length) flush(); removed.push(row); }
    else if (row.kind === 'added') added.push(row);
    else { flush(); out.push({ left: row, right: row }); }
  }
  flush();
  return out;
}

const WORD = /[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu;
/** More comparisons than this for one line are not worth the wait; the line is then shown without marks. */
const MOST = 40_000;

/**
 * Which words of two lines differ: {left: [[text, marked]], right: [...]}, or null where hardly anything is alike and marks
 * would only be noise.
 */
export function wordMarks(left, right) {
  if (left.length > 4000 || right.length > 4000) return null;
  const [a, b] = [left.match(WORD) ?? [], right.match(WORD) ?? []];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
  const kept = common(a.slice(start, a.length - end), b.slice(start, b.length - end));
  if (!kept) return null;
  const edge = (list, middle) => [...Array(start).fill(true), ...middle, ...Array(end).fill(true)].map((same, at) => [list[at], !same]);
  const [marked, other] = [edge(a, kept.a), edge(b, kept.b)];
  const alike = marked.reduce((sum, [text, differs]) => sum + (differs || !text.trim() ? 0 : text.length), 0);
  if (alike * 4 < Math.max(left.trim().length, right.trim().length)) return null;
  return { left: joined(marked), right: joined(other) };
}

/** The longest common run of words, as flags for each side. */
function common(a, b) {
  if (a.length * b.length > MOST) return null;
  const width = b.length + 1;
  const table = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      table[i * width + j] = a[i] === b[j] ? table[(i + 1) * width + j + 1] + 1 : Math.max(table[(i + 1) * width + j], table[i * width + j + 1]);
    }
  }
  const kept = { a: Array(a.length).fill(false), b: Array(b.length).fill(false) };
  let i = 0;
  let j = 0;
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) { kept.a[i] = true; kept.b[j] = true; i += 1; j += 1; }
    else if (table[(i + 1) * width + j] >= table[i * width + j + 1]) i += 1;
    else j += 1;
  }
  return kept;
}

function joined(words) {
  const out = [];
  for (const [text, marked] of words) {
    if (out.length && out[out.length - 1][1] === marked) out[out.length - 1][0] += text;
    else out.push([text, marked]);
  }
  return out;
}
