// Models: who answers, where keys are, which model is for what.
import { fill, h, icon } from '../../dom.js';
import { get, post, put } from '../../api.js';
import { confirmDialog, openDialog } from '../../dialog.js';
import { toast, trouble } from '../../toast.js';
import { doing, field, part, save, saved, settingsForm } from './form.js';

const ABOUT = {
  anthropic: ['Anthropic', 'Claude models. Needs a key from console.anthropic.com.'],
  openai: ['OpenAI', 'GPT models. Needs a key from platform.openai.com.'],
  gemini: ['Google Gemini', 'Needs a key from aistudio.google.com.'],
  openrouter: ['OpenRouter', 'Many models behind one key from openrouter.ai.'],
  zai: ['Z.ai', 'GLM models. Needs a key from z.ai.'],
  azure: ['Azure OpenAI', 'Needs the address of your resource: add it below under the name azure, then give its key.'],
  ollama: ['Ollama', 'Models on this machine. No key; nothing leaves it.'],
  lmstudio: ['LM Studio', 'Models on this machine. No key; nothing leaves it.'],
};
const DIALECTS = [['openai', 'OpenAI’s chat completions (most servers)'], ['responses', 'OpenAI’s responses'], ['anthropic', 'Anthropic'], ['gemini', 'Gemini'], ['ollama', 'Ollama']];

export async function make({ query, draw, settings }) {
  const models = await get('/api/settings/models');
  const names = h('datalist#model-names');
  const learnt = new Set();
  const learn = (listing) => {
    for (const model of listing.models ?? []) if (!learnt.has(model.name)) { learnt.add(model.name); names.append(h('option', { value: model.name })); }
  };
  const near = h('div', { 'aria-live': 'polite' });
  const look = async () => {
    fill(near, h('p.muted', 'Looking on this machine…'));
    const { found } = await post('/api/settings/models/near');
    found.forEach(learn);
    fill(near, found.length ? found.map((listing) => listed(listing, draw)) : h('p.muted', 'No Ollama and no LM Studio runs on this machine. Start one, then look again.'));
  };
  const parts = [
    part('Which model is for what', 'A model is named as provider@model. “Main” speaks with you; “fast” writes titles and summaries; “flagship” is asked when work is hard. Only main is needed.', names, !models.in_force.main && h('p.note-box', 'There is no main model yet. Look on this machine or test a provider below, and choose one of its models.'), tiers(models, draw)),
    part('On this machine', 'Models that run here need no key, and nothing leaves your computer.', doing([icon('find'), 'Look for Ollama and LM Studio'], 'Looking…', look), near),
    part('Providers', models.keyring.there ? 'Keys are kept in your system’s keyring. They are never shown again, and stand in no file of Verger.' : `${models.keyring.why[0].toUpperCase()}${models.keyring.why.slice(1)}: ${models.keyring.hint}.`,
      h('ul.plain.cards', models.providers.map((provider) => card(provider, models, learn, draw)))),
    part('A provider of your own', 'Any server that speaks one of these ways: vLLM, llama.cpp, LiteLLM, a gateway at work.', ownProvider(models, draw)),
    part('Short names', 'Type the short name wherever a model is asked for.', aliases(models, draw, settings)),
  ];
  if (query.get('way') === 'near') look().catch(trouble);
  if (query.get('way') === 'key') setTimeout(() => document.querySelector('.provider.needs-key button')?.focus(), 50);
  return parts;
}

function tiers(models, draw) {
  const one = (tier, label, help) => field({ path: ['models', tier], label, help, value: models.written[tier], list: 'model-names', placeholder: tier === 'main' ? 'anthropic@claude-sonnet-4-5' : tier === 'fast' ? 'same as main' : 'none' });
  return settingsForm([one('main', 'Main'), one('fast', 'Fast'), one('flagship', 'Flagship')], draw);
}

function keyChip({ key, name }) {
  if (key.kind === 'none') return h('span.chip', 'needs no key');
  if (key.there && key.kind === 'keyring') return h('span.chip.good', icon('key'), 'kept in the keyring');
  if (key.there && key.kind === 'file') return h('span.chip.good', icon('key'), `kept in ${key.place}`);
  if (key.there) return h('span.chip.good', icon('key'), `from the variable ${key.place}`);
  if (key.kind === 'variable') return h('span.chip', { title: `${name}: the variable ${key.place} is not set` }, 'no key');
  return h('span.chip.warn', icon('warn'), 'key missing');
}

function card(provider, models, learn, draw) {
  const [title, about] = ABOUT[provider.name] ?? [provider.name, provider.url ?? ''];
  const answer = h('div.provider-answer', { 'aria-live': 'polite' });
  const needs = provider.key.kind !== 'none' && !provider.key.there;
  const own = ['keyring', 'file'].includes(provider.key.kind);
  const test = doing('Test', 'Asking…', async () => {
    const listing = await post('/api/settings/models/test', { provider: provider.name });
    learn(listing);
    fill(answer, listed(listing, draw));
  });
  return h(`li.card.provider${needs ? '.needs-key' : ''}`,
    h('div.row.spread', h('h3', title), keyChip(provider)),
    h('p.muted.small', about, provider.url && ABOUT[provider.name] && ` At ${provider.url}.`),
    provider.key.trouble && h('p.small.bad-text', provider.key.trouble),
    h('div.row',
      provider.name !== 'ollama' && provider.name !== 'lmstudio' && h('button', { type: 'button', onclick: () => askKey(provider, models, draw) }, icon('key'), needs ? 'Give a key…' : 'Change key…'),
      (!needs || provider.local) && test,
      own && doing('Forget key', 'Forgetting…', async () => {
        if (!await confirmDialog({ title: 'Forget this key?', text: `${title} cannot be asked any more until you give a key again.`, yes: 'Forget it', danger: true })) return;
        await post('/api/settings/key/forget', { provider: provider.name });
        toast('Forgotten.');
        await draw();
      }, '.quiet'),
      provider.configured && !provider.known && doing('Remove', 'Removing…', () => save([{ path: ['providers', provider.name], value: null }], draw), '.quiet')),
    answer);
}

/** What a provider answered: its models, or why not. */
function listed(listing, draw) {
  if (!listing) return h('p.muted', 'Nothing came back.');
  if (listing.error) return h('div.note-box.bad', { role: 'alert' }, h('p', listing.error), h('p', listing.hint));
  if (!listing.models.length) return h('p.muted', `${listing.provider} answers, but has no models yet.`);
  const list = h('ul.plain.model-list');
  const show = (text) => {
    const fit = listing.models.filter((model) => model.name.toLowerCase().includes(text.toLowerCase()));
    fill(list, fit.slice(0, 40).map((model) => h('li', h('code', model.name), model.window && h('span.muted.small', `${Math.round(model.window / 1000)}k tokens`), model.price && h('span.muted.small', `$${model.price.input} in, $${model.price.output} out per million`),
      h('button.small', { type: 'button', onclick: () => save([{ path: ['models', 'main'], value: model.name }], draw) }, 'Use as main'))), fit.length > 40 && h('li.muted', `and ${fit.length - 40} more; type to narrow`));
  };
  show('');
  return h('div', h('p', icon('check'), ` ${listing.provider} answers: ${listing.models.length} ${listing.models.length === 1 ? 'model' : 'models'}.`),
    listing.models.length > 8 && h('input', { type: 'search', placeholder: 'Narrow the list', 'aria-label': `Narrow the models of ${listing.provider}`, oninput: (event) => show(event.target.value) }), list);
}

/** Asks for a key; it goes to this server once and never comes back. */
async function askKey(provider, models, draw) {
  const { keyring } = models;
  const input = h('input#new-key', { type: 'password', autocomplete: 'off', spellcheck: 'false', placeholder: 'paste the key', autofocus: true });
  const label = h('label', { for: 'new-key' }, h('strong', 'Key'));
  const said = h('div', { 'aria-live': 'polite' });
  const choice = (value, words, help, props) => h('div.field.yes', h('div.row', h('input', { type: 'radio', name: 'keep', id: `keep-${value}`, value, ...props }), h('label', { for: `keep-${value}` }, words)), help && h('small', help));
  const form = h('form.dialog-body',
    h('div.field', label, input),
    h('fieldset', h('legend', 'Keep it'),
      choice('keyring', 'in the system’s keyring', keyring.there ? 'Locked with your login; the best place.' : `${keyring.why}.`, { checked: keyring.there, disabled: !keyring.there }),
      choice('file', 'in a file that only you can read', `Below the folder of config.toml. Whoever can read your files can read it.`, {}),
      choice('variable', 'nowhere: it is in an environment variable', `Type the variable’s name instead of the key. Set it before Verger starts, e.g. export ${provider.usual_variable ?? 'MY_KEY'}=… in your shell’s profile.`, {})),
    said);
  form.addEventListener('change', () => {
    const variable = form.elements.keep?.value === 'variable';
    input.type = variable ? 'text' : 'password';
    fill(label, h('strong', variable ? 'Name of the variable' : 'Key'));
    if (variable && !input.value) input.value = provider.usual_variable ?? '';
  });
  await openDialog({ title: `Key for ${ABOUT[provider.name]?.[0] ?? provider.name}`, make: (close) => {
    const keep = async (event) => {
      event?.preventDefault();
      const chosen = form.elements.keep?.value;
      if (!chosen || !input.value.trim()) return fill(said, h('p.note-box.warn', !chosen ? 'Choose where it is kept.' : 'Paste the key first.'));
      try {
        const { done } = await put('/api/settings/key', { provider: provider.name, key: input.value.trim(), keep: chosen });
        input.value = '';
        close(true);
        toast(`The key is ${done.text}.`);
        await draw();
      } catch (problem) {
        fill(said, h('div.note-box.bad', { role: 'alert' }, h('p', problem.message), h('p', problem.hint)));
      }
      return undefined;
    };
    form.addEventListener('submit', keep);
    return [form, h('footer.dialog-foot',
      doing('Test it first', 'Asking…', async () => {
        const listing = await post('/api/settings/models/test', { provider: provider.name, key: input.value.trim() || undefined });
        fill(said, listing.error ? h('div.note-box.bad', { role: 'alert' }, h('p', listing.error), h('p', listing.hint)) : h('p.note-box', `It works: ${listing.models.length} models.`));
      }),
      h('button.main', { type: 'button', onclick: keep }, 'Keep it'))];
  } });
}

function ownProvider(models, draw) {
  const name = field({ label: 'Name', placeholder: 'my-server' });
  const dialect = field({ label: 'How it speaks', kind: 'select', options: DIALECTS, value: 'openai' });
  const url = field({ label: 'Address', placeholder: 'http://127.0.0.1:8000/v1' });
  const answer = h('div', { 'aria-live': 'polite' });
  return h('form', { onsubmit: async (event) => {
    event.preventDefault();
    if (!name.now() || !url.now()) return fill(answer, h('p.note-box.warn', 'It needs a name and an address.'));
    return save([{ path: ['providers', name.now(), 'dialect'], value: dialect.now() }, { path: ['providers', name.now(), 'url'], value: url.now() }], draw);
  } }, h('div.columns', name, dialect, url), h('div.row', h('button', { type: 'submit' }, 'Add…'), doing('Test', 'Asking…', async () => {
    fill(answer, listed(await post('/api/settings/models/test', { provider: name.now() ?? 'new', dialect: dialect.now(), url: url.now() ?? undefined }), draw));
  })), answer);
}

function aliases(models, draw) {
  const alias = field({ label: 'Short name', placeholder: 'sonnet' });
  const model = field({ label: 'Model', placeholder: 'anthropic@claude-sonnet-4-5', list: 'model-names' });
  return h('div', models.aliases.length > 0 && h('ul.plain.rows', models.aliases.map((one) => h('li.row', h('code', one.alias), h('span.grow.clip', one.model),
    h('button.small.quiet', { type: 'button', 'aria-label': `Remove the short name ${one.alias}`, onclick: () => save([{ path: ['models', 'aliases', one.alias], value: null }], draw) }, 'Remove')))),
  h('form', { onsubmit: (event) => {
    event.preventDefault();
    if (alias.now() && model.now()) save([{ path: ['models', 'aliases', alias.now()], value: model.now() }], draw);
  } }, h('div.columns', alias, model), h('button', { type: 'submit' }, 'Add…')));
}
