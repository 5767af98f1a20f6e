// Health: what is wrong or odd in the vault, why it matters, and mending it.
import { count, fill, h, icon, later } from '../dom.js';
import { get } from '../api.js';
import * as live from '../live.js';
import { propose, sentence, told } from '../propose.js';
import { trouble } from '../toast.js';

/** Each kind: its name, and why it matters. */
const KINDS = {
  invalid_front_matter: ['Properties that cannot be read', 'The block at the top of the note is not valid, so its properties, tags and aliases count for nothing.'],
  unreadable: ['Notes that cannot be read', 'Such a note is missing from search, links and answers.'],
  broken_link: ['Links that lead to nothing', 'A reader who follows one ends nowhere; often a note was renamed by another program.'],
  duplicate_name: ['Notes with the same name', 'A link by that name has to guess which one is meant.'],
  duplicate_alias: ['Aliases that two notes share', 'A link by that alias has to guess which note is meant.'],
  tag_variant: ['One tag in several spellings', 'Notes that belong together are listed apart.'],
  near_duplicate: ['Notes that say almost the same', 'You change one and forget the other.'],
  empty_note: ['Empty notes', 'They turn up in search and lists and say nothing.'],
  orphan: ['Notes without any link', 'Nothing leads to them; they are found by search only.'],
  missing_reciprocal: ['Links that are not returned', 'A property names another note, and from there is no way back.'],
  hub: ['Notes with very many links', 'Worth knowing: so many links say little about each one.'],
  stale_hub: ['Central notes left behind', 'Many notes link there and have moved on since; what it says may be old.'],
  one_domain: ['Subjects with one source', 'Nearly everything on the subject comes from one site.'],
  similar_unlinked: ['Similar notes without a link', 'They are about the same and do not know of each other.'],
};
const REPAIRS = { tag_variant: 'Use one spelling', broken_link: 'Mend what is certain', missing_reciprocal: 'Add the links back', empty_note: 'Move them to the trash', near_duplicate: 'Move exact copies to the trash', similar_unlinked: 'Link them' };
const TONES = { error: ['bad', 'does not work'], warning: ['warn', 'may mislead'], info: ['', 'worth knowing'] };

const noteLink = (path, line) => `#/notes/${path.split('/').map(encodeURIComponent).join('/')}${line ? `?line=${line}` : ''}`;

/** Text in which names stand between backticks. */
const coded = (text) => text.split('`').map((part, at) => (at % 2 ? h('code', part) : part));

export async function mount(root) {
  const status = h('p.small.muted', { role: 'status' });
  const body = h('div', h('p.waiting', 'Looking through the vault…'));
  const deeper = h('button', { type: 'button', onclick: () => look(true).catch(trouble) }, icon('find'), 'Look deeper');
  fill(root, h('div.page.health', h('h1', 'Health'),
    h('p.lead.muted', 'What is wrong or odd in the vault. Looking changes nothing; every repair is shown first and can be taken back.'),
    h('div.row', deeper, h('span.small.muted', 'Reads every note for near copies and similar notes without a link. That takes longer: up to a minute in a large vault.')),
    status, body));
  let deep = false;
  let open = new Set();
  let asked = 0;

  async function look(texts, quietly) {
    const mine = ++asked;
    deep = texts;
    if (!quietly) fill(status, texts ? 'Reading every note…' : 'Looking…');
    deeper.disabled = texts;
    try {
      const answer = await get('/api/health', { deep: texts });
      if (mine === asked) draw(answer);
    } finally {
      if (mine === asked) { fill(status, ''); deeper.disabled = false; }
    }
  }

  function draw(answer) {
    const held = document.activeElement?.dataset?.key;
    const total = answer.counts.reduce((sum, kind) => sum + kind.count, 0);
    if (!total) {
      fill(body, h('div.empty.card.well', h('p.big', { 'aria-hidden': 'true' }, icon('check')), h('h2', 'The vault is in good health'),
        h('p', answer.deep ? 'No broken link, no doubled name, no near copy: nothing was found, in the texts either.' : 'No broken link, no doubled name, no odd tag.'),
        !answer.deep && h('p.muted', 'Look deeper to compare the texts as well.')));
      return;
    }
    fill(body,
      h('p', `${count(total, 'finding')} in ${count(answer.counts.length, 'kind')}${answer.deep ? ', texts included' : ''}.`),
      answer.counts.map((kind) => group(kind, answer.findings.filter((found) => found.kind === kind.kind), answer)));
    if (held) body.querySelector(`[data-key="${CSS.escape(held)}"]`)?.focus();
  }

  function group(kind, findings, answer) {
    const [name, why] = KINDS[kind.kind] ?? [kind.kind.replaceAll('_', ' '), ''];
    const [tone, words] = TONES[kind.severity] ?? ['', ''];
    const rows = h('ul.findings', findings.map((found) => row(found)));
    const more = kind.count > findings.length && h('button.small', { type: 'button', onclick: () => next().catch(trouble) }, `Show more of ${kind.count.toLocaleString('en')}`);
    async function next() {
      const page = await get('/api/health', { deep: answer.deep, kind: kind.kind, offset: rows.childElementCount });
      rows.append(...page.findings.map((found) => row(found)));
      if (rows.childElementCount >= kind.count) more.remove();
    }
    const isOpen = open.has(kind.kind) || (kind.severity === 'error' && kind.count <= 20);
    return h('details.card.kind', { open: isOpen, ontoggle: (event) => (event.target.open ? open.add(kind.kind) : open.delete(kind.kind)) },
      h('summary', { dataset: { key: `kind-${kind.kind}` } }, h('h2', name), h('span.chip', kind.count.toLocaleString('en')), words && h(`span.chip${tone && `.${tone}`}`, words)),
      h('p.muted', why),
      kind.repairable > 0 && h('p', h('button.main.small', { type: 'button', dataset: { key: `mend-${kind.kind}` }, onclick: () => mend(kind, []) }, REPAIRS[kind.kind] ?? 'Mend', kind.repairable < kind.count && ` (${kind.repairable} of ${kind.count})`),
        kind.repairable < kind.count && h('span.small.muted', ' the rest is yours to decide')),
      rows, more);
  }

  function row(found) {
    const [first] = found.paths;
    return h('li',
      h('div.grow',
        h('p', found.paths.slice(0, 6).map((path, at) => [at > 0 && ', ', h('a', { href: noteLink(path, at === 0 ? found.line : null) }, path.replace(/\.md$/, ''))]),
          found.total_paths > 6 && ` and ${found.total_paths - 6} more`, found.line && h('span.muted.small', ` · line ${found.line}`)),
        h('p.small', coded(sentence(found.message))),
        found.repair && h('p.small.muted', coded(`What helps: ${found.repair}.`))),
      found.repairable && h('button.small.quiet', { type: 'button', 'aria-label': `Mend this: ${first}`, onclick: () => mend({ kind: found.kind }, found.paths) }, 'Mend this'));
  }

  async function mend(kind, paths) {
    const done = await propose('/api/health/repair', { kind: kind.kind, ...(paths.length ? { paths } : {}) }, { title: KINDS[kind.kind]?.[0] ?? 'Mend', yes: 'Make this change' });
    if (!done) return;
    told(done, sentence(done.text?.split('\n')[0] ?? 'mended'));
    await look(deep, true).catch(trouble);
  }

  await look(false);
  let notes = null;
  const again = later(1500, () => { if (!deep && !document.querySelector('dialog[open]')) look(false, true).catch(() => {}); });
  return live.on('pulse', (pulse) => {
    if (notes !== null && pulse.notes !== notes) again();
    notes = pulse.notes;
  });
}
