// What is asked: three ways in plain words.
import { fill, h } from '../../dom.js';
import { get, put } from '../../api.js';
import { toast, trouble } from '../../toast.js';
import { part, save, written } from './form.js';

const WAYS = [
  { slug: 'everything', name: 'Ask me about everything', text: 'Before notes are read you say which, before results go to the model you say which, and before anything changes you see it.' },
  { slug: 'changes', name: 'Ask before changes', text: 'Reading and searching go ahead, as far as “What may be touched” allows. Every change is shown to you first. This is the usual way.' },
  { slug: 'folders', name: 'Let it edit in these folders', text: 'In the folders you name, notes are changed without asking. Everywhere else you are asked. Every change can still be taken back.' },
];

export async function make({ settings, draw }) {
  const grants = await get('/api/settings/grants');
  const reads = written(settings, ['approve', 'reads']) === true;
  const results = written(settings, ['approve', 'results']) === true;
  const before = reads && results ? 'everything' : grants.folders.length ? 'folders' : 'changes';
  let way = before;
  const folders = h('textarea#open-folders', { rows: 3, spellcheck: 'false', value: grants.folders.map((folder) => folder || '/').join('\n'), placeholder: 'Journal\nInbox' });
  const more = h('div.way-more', h('label', { for: 'open-folders' }, h('strong', 'Folders, one a line')), folders,
    h('small.muted', 'A single / is the whole vault. Once an assistant has read text from outside (a web page, another program), taking notes away, changing many at once, and what reaches outside is asked all the same.'));
  const button = h('button.main', { type: 'submit' }, 'Save…');
  const show = () => { more.hidden = way !== 'folders'; };
  const choose = h('form', { onsubmit: async (event) => {
    event.preventDefault();
    const wanted = way === 'folders' ? folders.value.split('\n').map((line) => line.trim()).filter(Boolean).map((line) => (line === '/' ? '' : line)) : [];
    if (way === 'folders' && !wanted.length) {
      folders.focus();
      return toast('Name at least one folder.', { kind: 'bad' });
    }
    const strict = way === 'everything';
    const changes = [];
    if (reads !== strict) changes.push({ path: ['approve', 'reads'], value: strict || null });
    if (results !== strict) changes.push({ path: ['approve', 'results'], value: strict || null });
    try {
      if (changes.length && !await save(changes, async () => {})) return undefined;
      const { done } = await put('/api/settings/grants/folders', { folders: wanted });
      toast(done.folders.length ? `Changes are not asked in ${done.folders.map((folder) => folder || 'the whole vault').join(', ')}.` : 'Every change is asked.');
      await draw();
    } catch (problem) {
      trouble(problem);
    }
    return undefined;
  } },
  h('fieldset.ways', h('legend.visually-hidden', 'What is asked'), WAYS.map((one) => h('div.way', h('input', { type: 'radio', name: 'way', id: `way-${one.slug}`, value: one.slug, checked: one.slug === way, onchange: () => { way = one.slug; show(); } }), h('label', { for: `way-${one.slug}` }, h('strong', one.name), h('span.muted', one.text)), one.slug === 'folders' && more))),
  button);
  show();
  const note = h('div');
  if (reads !== results) fill(note, h('p.note-box', `config.toml says something in between: reads ${reads ? 'are' : 'are not'} asked, results ${results ? 'are' : 'are not'}.`));
  return [part('How much you want to be asked', 'You see every change before it is made, unless you said otherwise here.', note, choose),
    part('What is always so', null, h('ul', h('li', 'Every change keeps what was there before, and can be taken back under ', h('a', { href: '#/changes' }, 'Changes'), '.'), h('li', 'What is hidden or protected under ', h('a', { href: '#/settings/policy' }, 'What may be touched'), ' stays so, whatever is allowed here.'), h('li', 'Single grants stand under ', h('a', { href: '#/settings/grants' }, 'Standing grants'), '.')))];
}
