// Home: where a newcomer starts. What is here, what changed last, what can be done without a model, and how to get one.
import { ago, count, fill, h, icon } from '../dom.js';
import { get, post } from '../api.js';
import * as live from '../live.js';
import { openDialog } from '../dialog.js';
import { toast, trouble } from '../toast.js';
import * as diffs from '../diff.js';
import { pageOf } from '../notes/address.js';

export async function mount(root) {
  const home = await get('/api/home');
  const health = h('p.home-health.muted', 'Looking how the vault is…');
  const latest = h('div');
  const draw = (now) => fill(root, h('div.page.home',
    head(now, health),
    !now.model && giveModel(),
    h('div.home-columns',
      h('section', h('h2', 'Recent notes'), recent(now)),
      h('section', h('h2', 'Latest changes'), latest)),
    h('section', h('h2', 'What you can do here'), tiles(now))));
  const again = async () => {
    const now = await get('/api/home');
    drawLatest(latest, now, again);
    return now;
  };
  draw(home);
  drawLatest(latest, home, again);
  get('/api/home/health').then((now) => fill(health, healthLine(now)), () => { health.hidden = true; });
  let seen = null;
  const stop = live.on('pulse', (pulse) => {
    if (seen !== null && pulse.notes !== seen && document.activeElement?.id !== 'home-search') again().then(draw, () => {});
    seen = pulse.notes;
  });
  return stop;
}

function head(home, health) {
  const input = h('input#home-search', { type: 'search', name: 'q', placeholder: `Search ${count(home.notes, 'note')}`, 'aria-label': 'Search the notes', autocomplete: 'off' });
  const form = h('form.home-search', { role: 'search', onsubmit: (event) => {
    event.preventDefault();
    const text = input.value.trim();
    location.hash = text ? `#/find?q=${encodeURIComponent(text)}` : '#/find';
  } }, icon('find'), input, h('button.main', { type: 'submit' }, 'Search'));
  const { daily } = home;
  return h('header.home-head',
    h('h1', home.vault),
    h('p.lead', [count(home.notes, 'note'), home.files > home.notes && count(home.files - home.notes, 'other file'), home.tags && count(home.tags, 'tag'), `${count(home.changes, 'change')} that can be taken back`].filter(Boolean).join(' · '),
      home.read_only && h('span.chip.warn', 'read only')),
    form,
    h('div.row.home-links',
      daily?.there && h('a.button', { href: pageOf(daily.path) }, icon('edit'), 'Today’s note'),
      h('a.button', { href: '#/notes' }, icon('notes'), 'Browse the notes'),
      home.model && h('a.button', { href: '#/chat' }, icon('chat'), 'Talk with your notes')),
    health);
}

function healthLine(health) {
  const words = { broken_link: ['broken link', 'broken links'], orphan: ['note on its own', 'notes on their own'], tag_variant: ['tag in two spellings', 'tags in two spellings'], empty_note: ['empty note', 'empty notes'], duplicate_name: ['name used twice', 'names used twice'], invalid_front_matter: ['note with broken properties', 'notes with broken properties'] };
  const told = health.kinds.filter(({ kind }) => words[kind]).slice(0, 3).map(({ kind, count: number }) => count(number, ...words[kind]));
  if (!health.bad && !health.odd && !health.small) return [icon('check'), ' The vault is in order. ', h('a', { href: '#/health' }, 'Look closer')];
  return [icon('health'), ` ${told.join(', ') || `${health.bad + health.odd + health.small} things to look at`}. `, h('a', { href: '#/health' }, 'Look and mend')];
}

function recent(home) {
  if (!home.recent.length) return h('p.muted', 'No notes yet. Put Markdown files into the folder, and they show up here.');
  return h('ul.home-list', home.recent.map((note) => h('li', h('a', { href: pageOf(note.path) }, h('span.clip', note.name), h('span.muted.small.clip', note.folder || 'at the top')), h('time.muted.small', { datetime: new Date(note.modified_ms).toISOString() }, ago(note.modified_ms)))));
}

const DID = { write_file: 'written', edit_file: 'edited', append_to_file: 'added to', update_frontmatter: 'properties changed', manage_tags: 'tags changed', move_file: 'moved', delete_file: 'put into the trash', create_folder: 'folder made', batch_files: 'several changed', restore_checkpoint: 'taken back', get_daily_note: 'daily note made', patch_note: 'section changed', replace_in_file: 'words replaced', write_chat: 'chat written', vault_health_repair: 'mended' };

function drawLatest(place, home, again) {
  if (!home.latest.length) {
    fill(place, h('p.muted', 'Nothing was changed yet. Whatever you or an assistant change here is kept as it was before, and can be taken back.'));
    return;
  }
  fill(place, h('ul.home-list', home.latest.map((change) => {
    const [first] = change.paths;
    const more = change.total > 1 ? ` and ${change.total - 1} more` : '';
    return h('li', h('a', { href: `#/changes/${encodeURIComponent(change.id)}` }, h('span.clip', `${first ?? 'a file'}${more}`), h('span.muted.small', `${DID[change.tool] ?? 'changed'}, ${ago(change.time_ms)}`)),
      !change.takes_back && h('button.small', { type: 'button', 'aria-label': `Take back the change of ${first ?? 'a file'}`, onclick: (event) => takeBack(change, event.currentTarget, again) }, icon('undo'), 'Take back'));
  })), h('p', h('a', { href: '#/changes' }, 'All changes')));
}

async function takeBack(change, button, again) {
  button.disabled = true;
  try {
    const { shown } = await post('/api/undo', { id: change.id });
    const yes = await openDialog({ title: 'Take this change back?', className: 'wide', make: (close) => [
      h('div.dialog-body', h('p', shown.summary), shown.files.map((file) => (diffs.diffView ? diffs.diffView(file) : h('pre', file.diff)))),
      h('footer.dialog-foot', h('button.quiet', { type: 'button', onclick: () => close(false) }, 'Leave it'), h('button.main', { type: 'button', autofocus: true, onclick: () => close(true) }, 'Take it back')),
    ] });
    if (yes) {
      const { done } = await post('/api/undo', { id: change.id, saw: shown.saw });
      toast(done.text || 'Taken back.');
      await again();
    }
  } catch (problem) {
    trouble(problem);
  }
  button.disabled = false;
}

function giveModel() {
  const way = (name, title, text, href) => h('li', h('a.card', { href }, icon(name), h('strong', title), h('span.muted', text)));
  return h('section.card.home-model', { 'aria-labelledby': 'home-model' },
    h('h2#home-model', 'Give it a model'),
    h('p.muted', 'Reading, searching, linking and undoing work without one. With a model you can talk with your notes, and it changes only what you allow.'),
    h('ul.tiles',
      way('home', 'On this machine', 'Ollama or LM Studio: nothing leaves your computer, no key needed.', '#/settings/models?way=near'),
      way('key', 'With a key', 'Anthropic, OpenAI, Gemini, OpenRouter and others. The key is kept on this machine, outside the vault.', '#/settings/models?way=key'),
      way('link', 'With the assistant you have', 'Let Claude, Cursor, Zed or another client use this vault.', '#/settings/servers')));
}

function tiles(home) {
  const [tag] = home.examples.tags;
  const word = home.examples.tour ? 'slugs' : tag;
  const tile = (name, title, text, href) => h('li', h('a.card', { href }, icon(name), h('strong', title), h('span.muted', text)));
  return h('ul.tiles',
    tile('find', 'Find anything', word ? `Try “${word}”: exact words, ranked, by meaning, or as a query.` : 'Exact words, ranked, by meaning, or as a query.', word ? `#/find?q=${encodeURIComponent(word)}` : '#/find'),
    tile('notes', 'Read', home.examples.tour ? 'Begin with Start: a walk through Little Marrow.' : 'Every note with its links, its outline and what links to it.', home.examples.tour ? '#/notes/Start.md' : '#/notes'),
    tile('graph', 'See what leans on what', 'The map of all links; click a note to go there.', '#/graph'),
    tile('health', 'Tidy up', home.examples.tour ? 'There is a broken link, a lonely note, and a tag spelt in two ways.' : 'Broken links, lonely notes, tags in two spellings.', '#/health'),
    tile('changes', 'Take things back', 'Every change keeps what was there before.', '#/changes'),
    tile('settings', 'Decide who may do what', 'Folders to hide, what is asked, models and helpers.', '#/settings'));
}
