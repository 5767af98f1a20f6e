// A small menu at a button: arrows move, Escape closes, the focus goes back.
import { fill, h, icon } from './dom.js';

/** A button that opens a menu. `entries()` gives [{name, icon, run, href, danger}] when it opens; what is nothing is left out. */
export function menuButton({ label, className = '', entries, face = icon('more') }) {
  const button = h(`button.quiet.icon${className}`, { type: 'button', 'aria-label': label, 'aria-haspopup': 'menu', 'aria-expanded': 'false' }, face);
  button.addEventListener('click', (event) => {
    event.preventDefault();
    open(button, label, entries().filter(Boolean));
  });
  return button;
}

function open(button, label, entries) {
  const menu = h('div.menu', { role: 'menu', 'aria-label': label, popover: 'auto' });
  const close = () => menu.hidePopover();
  fill(menu, entries.map((entry) => h(`${entry.href ? 'a' : 'button'}.menu-entry${entry.danger ? '.danger' : ''}`, {
    type: entry.href ? undefined : 'button', role: 'menuitem', tabindex: '-1', href: entry.href, download: entry.href ? '' : undefined,
    onclick: () => { close(); entry.run?.(); },
  }, icon(entry.icon), entry.name)));
  menu.addEventListener('keydown', (event) => {
    const items = [...menu.children];
    const at = items.indexOf(document.activeElement);
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[event.key];
    if (event.key === 'Tab') close();
    if (next === undefined) return;
    event.preventDefault();
    items.at(next % items.length).focus();
  });
  menu.addEventListener('toggle', (event) => {
    if (event.newState !== 'closed') return;
    button.setAttribute('aria-expanded', 'false');
    if (menu.contains(document.activeElement) || document.activeElement === document.body) button.focus();
    menu.remove();
  });
  document.body.append(menu);
  menu.showPopover();
  button.setAttribute('aria-expanded', 'true');
  place(menu, button.getBoundingClientRect());
  menu.firstElementChild?.focus();
}

function place(menu, at) {
  const { width, height } = menu.getBoundingClientRect();
  const below = at.bottom + height + 8 < innerHeight;
  menu.style.left = `${Math.max(8, Math.min(at.right - width, innerWidth - width - 8))}px`;
  menu.style.top = `${Math.max(8, below ? at.bottom + 4 : at.top - height - 4)}px`;
}
