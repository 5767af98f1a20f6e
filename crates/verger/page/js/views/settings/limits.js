// Turns and history: what a turn may take, how long the past is kept, and the search by meaning.
import { h } from '../../dom.js';
import { field, meaning, part, settingsForm, written } from './form.js';

export async function make({ settings, draw }) {
  const one = (name, label, more = {}) => {
    const path = name.split('.');
    return field({ path, label, help: meaning(settings, name), value: written(settings, path), kind: 'number', min: 0, ...more });
  };
  const model = written(settings, ['embedding', 'model']);
  return [
    part('A turn', 'A turn is everything between your words and the end of the answer. When a limit is reached it stops, says so, and can be gone on with.',
      settingsForm([one('chat.rounds', 'Answers of the model', { min: 1, max: 1000, placeholder: '25' }), one('chat.seconds', 'Seconds', { placeholder: 'no limit' }), one('chat.tokens', 'Tokens', { placeholder: 'no limit' }), one('chat.dollars', 'Dollars', { placeholder: 'no limit', step: 'any' }), one('chat.condense_at', 'Make it shorter at', { min: 10, max: 95, placeholder: '80' })], draw)),
    part('History', 'Before a change, what was there is kept, so that it can be taken back.',
      settingsForm([one('checkpoints.keep_days', 'Days', { placeholder: '90' }), one('checkpoints.keep_bytes', 'Bytes', { placeholder: '1073741824' })], draw)),
    part('Search by meaning', null,
      h('dl.facts', h('dt', 'Model'), h('dd', model ?? 'built in, on this machine'), written(settings, ['embedding', 'name']) && [h('dt', 'Name'), h('dd', written(settings, ['embedding', 'name']))], written(settings, ['embedding', 'url']) && [h('dt', 'Address'), h('dd', written(settings, ['embedding', 'url']))]),
      h('p.muted', 'It is chosen in config.toml under [embedding]. A change holds after Verger was started again, because every note is read anew with it.')),
    part('Where things lie', null, h('dl.facts', h('dt', 'Settings'), h('dd', h('code', settings.file)), h('dt', 'Vault'), h('dd', h('code', settings.vault)), h('dt', 'History, conversations, grants'), h('dd', h('code', settings.data)))),
  ];
}
