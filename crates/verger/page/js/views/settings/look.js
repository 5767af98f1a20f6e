// Look: light, dark, or as the system says. Kept in this browser.
import { h } from '../../dom.js';
import { part } from './form.js';

const THEMES = [['', 'As the system says'], ['light', 'Light'], ['dark', 'Dark']];

export async function make() {
  const kept = localStorage.getItem('theme') ?? '';
  const choose = (theme) => {
    if (theme) localStorage.setItem('theme', theme);
    else localStorage.removeItem('theme');
    dispatchEvent(new CustomEvent('verger:theme'));
  };
  return [part('Colours', 'Kept in this browser only.', h('fieldset.ways', h('legend.visually-hidden', 'Colours'), THEMES.map(([theme, name]) => h('div.field.yes', h('div.row', h('input', { type: 'radio', name: 'theme', id: `theme-${theme || 'system'}`, checked: theme === kept, onchange: () => choose(theme) }), h('label', { for: `theme-${theme || 'system'}` }, name)))))),
    part('Keys', null, h('dl.facts', h('dt', h('kbd', 'Ctrl K')), h('dd', 'go to anything'), h('dt', h('kbd', 'g'), ' and a letter'), h('dd', 'go to a view; the letter stands in its hint'), h('dt', h('kbd', '/')), h('dd', 'search')))];
}
