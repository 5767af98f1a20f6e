// What may be touched: limits of config.toml, and the two files of rules that travel with the vault.
import { count, fill, h, icon, later } from '../../dom.js';
import { get, post, put } from '../../api.js';
import { toast, trouble } from '../../toast.js';
import { field, part, settingsForm, written } from './form.js';

const FILES = {
  ignore: { title: 'Hidden notes', about: 'What fits these patterns is hidden from every tool and every assistant: it is in no list, no search, no count. You still have the files.', none: 'hides nothing', some: 'hidden' },
  protect: { title: 'Read-only notes', about: 'What fits these patterns can be read and found, but not changed.', none: 'protects nothing', some: 'read-only' },
};

export async function make({ settings, draw }) {
  const rules = await get('/api/settings/rules');
  const limits = [
    field({ path: ['limits', 'read'], kind: 'list', label: 'May be read', help: 'Folders or files, one a line. Empty: everything.', value: written(settings, ['limits', 'read']), placeholder: 'everything' }),
    field({ path: ['limits', 'write'], kind: 'list', label: 'May be changed', help: 'Folders or files, one a line. Empty: everything that may be read.', value: written(settings, ['limits', 'write']), placeholder: 'everything' }),
    field({ path: ['limits', 'read_only'], kind: 'yes', label: 'Nothing may be changed', help: 'For everybody who comes through Verger: this page, assistants, other programs.', value: written(settings, ['limits', 'read_only']) }),
  ];
  return [
    part('Limits on this machine', 'They hold for everything that Verger does here, this page included.',
      settings.narrowing.length > 0 && h('p.note-box', `The environment narrows them further: ${settings.narrowing.join(', ')}.`), settingsForm(limits, draw)),
    ...['ignore', 'protect'].map((file) => part(FILES[file].title, FILES[file].about, editor(file, rules[file], rules.may_write, draw))),
  ];
}

function editor(file, rule, mayWrite, draw) {
  const words = FILES[file];
  const id = `rules-${file}`;
  const text = h('textarea.mono', { id, rows: Math.min(12, Math.max(5, (rule.text ?? '').split('\n').length + 1)), spellcheck: 'false', value: rule.text ?? '', placeholder: 'Private/\n*.secret.md', readonly: !mayWrite, 'aria-describedby': `${id}-said` });
  const said = h('div.rule-said', { id: `${id}-said`, 'aria-live': 'polite' });
  const button = h('button.main', { type: 'submit', disabled: true }, 'Save');
  const tell = async () => {
    const typed = text.value;
    const found = await post('/api/settings/rules/try', { file, text: typed }).catch((problem) => ({ wrong: problem.message }));
    if (typed !== text.value) return;
    button.disabled = Boolean(found.wrong) || typed === (rule.text ?? '');
    if (found.wrong) return fill(said, h('p.note-box.bad', found.wrong));
    return fill(said, found.count === 0 ? h('p.muted', `This ${words.none}: none of ${count(found.total, 'file')} fits.`)
      : h('details', { open: found.count <= 5 }, h('summary', `${found.count.toLocaleString('en')} of ${count(found.total, 'file')} ${found.count === 1 ? 'is' : 'are'} ${words.some}`), h('ul.plain.paths', found.first.map((path) => h('li', h('code', path)))), found.count > found.first.length && h('p.muted', `and ${count(found.count - found.first.length, 'more', 'more')}`)));
  };
  text.addEventListener('input', later(250, tell));
  tell();
  const write = async (after, saw) => {
    const { done } = await put('/api/settings/rules', { file, text: after, saw });
    return done;
  };
  const form = h('form', { onsubmit: async (event) => {
    event.preventDefault();
    const before = rule.text ?? '';
    try {
      const done = await write(text.value, rule.word);
      toast(`${done.text[0].toUpperCase()}${done.text.slice(1)}.`, { action: { name: 'Undo', run: () => write(before, done.word).then(draw).then(() => toast('As it was before.')).catch(trouble) } });
      await draw();
    } catch (problem) {
      trouble(problem);
    }
  } }, h('label', { for: id }, h('strong', rule.name), h('span.muted.small', ' one pattern a line, as in .gitignore; # begins a comment')), text, said,
  rule.others.map((other) => h('p.muted.small', icon('file'), ` ${other.name} counts as well; it is edited in an editor.`)),
  mayWrite ? h('div.row', button) : h('p.muted', 'Nothing may be changed now, so this is only shown.'));
  return form;
}
