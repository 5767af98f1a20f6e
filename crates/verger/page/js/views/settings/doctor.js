// Is all well? What the doctor found, and what to do.
import { h, icon } from '../../dom.js';
import { get } from '../../api.js';
import { doing, part } from './form.js';

const WORDS = { ok: ['check', 'good', 'fine'], warn: ['warn', 'warn', 'look'], fail: ['warn', 'bad', 'mend'] };

export async function make({ draw }) {
  const { findings } = await get('/api/settings/doctor');
  const order = ['fail', 'warn', 'ok'];
  const rows = [...findings].sort((one, other) => order.indexOf(one.verdict) - order.indexOf(other.verdict));
  const wrong = findings.filter((finding) => finding.verdict !== 'ok').length;
  return [part('This machine, this vault', wrong ? `${wrong} of ${findings.length} things could be better.` : `All ${findings.length} things that were looked at are fine.`,
    h('ul.plain.rows', rows.map((finding) => {
      const [name, tone, word] = WORDS[finding.verdict];
      return h('li.row', h(`span.chip.${tone}`, icon(name), word), h('div.grow', h('strong', finding.what[0].toUpperCase() + finding.what.slice(1)), h('div.small.wrap', finding.detail), finding.hint && h('div.muted.small', finding.hint)));
    })), doing('Look again', 'Looking…', draw))];
}
