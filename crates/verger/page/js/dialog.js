// Dialogs: the browser's own, so that the keyboard stays inside, Escape closes, and the focus goes back where it was.
import { h, icon } from './dom.js';

/**
 * Opens a dialog and resolves with what `close(value)` was given; Escape and the cross give `undefined`.
 * `make(close)` returns the children.
 */
export function openDialog({ title, className = '', make }) {
  return new Promise((resolve) => {
    let value;
    const close = (given) => { value = given; box.close(); };
    const box = h(`dialog.dialog${className && `.${className}`}`, { 'aria-label': title });
    box.append(h('header.dialog-head', h('h2', title),
      h('button.quiet.icon', { type: 'button', 'aria-label': 'Close', onclick: () => close(undefined) }, icon('close'))));
    const children = [make(close)].flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
    box.append(...children);
    box.addEventListener('close', () => { box.remove(); resolve(value); });
    document.body.append(box);
    box.showModal();
  });
}

/** Asks yes or no; anything else than the button is a no. */
export function confirmDialog({ title, text, yes, danger = false }) {
  return openDialog({
    title,
    make: (close) => [
      h('div.dialog-body', typeof text === 'string' ? h('p', text) : text),
      h('footer.dialog-foot',
        h('button.quiet', { type: 'button', onclick: () => close(false) }, 'Cancel'),
        h(`button${danger ? '.danger' : '.main'}`, { type: 'button', autofocus: true, onclick: () => close(true) }, yes)),
    ],
  }).then((answer) => answer === true);
}
