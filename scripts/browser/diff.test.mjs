// The lines of a change as the page reads them: no browser needed.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const source = readFileSync(join(process.env.ROOT, 'crates/verger/page/js/diff/lines.js'), 'utf8');
const { linesOf, pairs, rowsOf, wordMarks } = await import(`data:text/javascript,${encodeURIComponent(source)}`);
const short = (rows) => rows.map((row) => (row.kind === 'gap' ? `~${row.lines}` : `${{ same: ' ', added: '+', removed: '-' }[row.kind]}${row.before ?? ''}:${row.after ?? ''} ${row.text}`));

test('a unified diff is read with its line numbers, and the gaps around it are known', () => {
  const after = 'a\nb\nC\nd\ne\nf\n';
  const diff = '--- a/x.md\n+++ b/x.md\n@@ -2,3 +2,3 @@\n b\n-c\n+C\n d\n';
  assert.deepEqual(short(rowsOf({ diff, after })), ['~1', ' 2:2 b', '-3: c', '+:3 C', ' 4:4 d', '~2']);
});

test('lines that look like the head of a diff are lines where a part has room for them', () => {
  const diff = '--- a/x.md\n+++ b/x.md\n@@ -1,2 +1,3 @@\n--- front matter\n+++ new front matter\n+@@ -1 +1 @@\n same\n';
  assert.deepEqual(short(rowsOf({ diff })), ['-1: -- front matter', '+:1 ++ new front matter', '+:2 @@ -1 +1 @@', ' 2:3 same']);
});

test('a missing end of line is no line of its own', () => {
  const diff = '@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n';
  assert.deepEqual(short(rowsOf({ diff })), ['-1: a', '+:1 b']);
});

test('a new note and one that is taken away have one side', () => {
  assert.deepEqual(short(rowsOf({ diff: '@@ -0,0 +1,2 @@\n+a\n+b\n', before: null, after: 'a\nb\n' })), ['+:1 a', '+:2 b']);
  assert.deepEqual(short(rowsOf({ diff: '@@ -1,2 +0,0 @@\n-a\n-b\n', before: 'a\nb\n', after: null })), ['-1: a', '-2: b']);
});

test('without a diff the texts themselves are compared, and the rows give both back', () => {
  let seed = 7;
  const random = (most) => { seed = (seed * 1103515245 + 12345) % 2147483648; return seed % most; };
  for (let round = 0; round < 300; round += 1) {
    const before = Array.from({ length: random(8) }, () => 'abc'[random(3)]);
    const after = Array.from({ length: random(8) }, () => 'abc'[random(3)]);
    const rows = rowsOf({ before: before.join('\n'), after: after.join('\n') });
    if (before.join() === after.join()) { assert.deepEqual(rows, []); continue; }
    const side = (kind, text, number) => rows.flatMap((row) => (row.kind === 'gap' ? text.slice(row[number] - 1, row[number] - 1 + row.lines) : row.kind === kind ? [row.text] : []));
    assert.deepEqual(side('removed', before, 'before'), before);
    assert.deepEqual(side('added', after, 'after'), after);
  }
});

test('side by side, removed lines stand beside the ones that replace them', () => {
  const rows = rowsOf({ diff: '@@ -1,3 +1,2 @@\n-a\n-b\n+A\n c\n' });
  assert.deepEqual(pairs(rows).map(({ left, right }) => [left?.text ?? null, right?.text ?? null]), [['a', 'A'], ['b', null], ['c', 'c']]);
});

test('the words that differ are marked, and none where all differ or the line is too long', () => {
  const shown = (side) => side.map(([text, marked]) => (marked ? `[${text}]` : text)).join('');
  const marks = wordMarks('It bears fruit in October.', 'It bears much fruit in late October.');
  assert.equal(shown(marks.left), 'It bears fruit in October.');
  assert.equal(shown(marks.right), 'It bears [much ]fruit in[ late] October.');
  assert.equal(wordMarks('completely other', 'nothing alike here'), null);
  assert.equal(wordMarks('a '.repeat(3000), 'b '.repeat(3000)), null);
  const begun = performance.now();
  wordMarks(Array.from({ length: 900 }, (_, at) => `x${at}`).join(' '), Array.from({ length: 900 }, (_, at) => `y${at}`).join(' '));
  assert.ok(performance.now() - begun < 100);
});

test('texts that are empty or end without an end of line', () => {
  assert.deepEqual(linesOf(''), []);
  assert.deepEqual(linesOf('a'), ['a']);
  assert.deepEqual(linesOf('a\n\n'), ['a', '']);
  assert.deepEqual(rowsOf({ diff: '', before: '', after: '' }), []);
});

test('behind a diff that was cut nothing is said to be unchanged', () => {
  assert.deepEqual(short(rowsOf({ diff: '@@ -1,3 +1,3 @@\n-a\n+A\n', after: 'A\nb\nc\nd\n', cut: true })), ['-1: a', '+:1 A']);
});
