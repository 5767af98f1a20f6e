// Brings what is shown up to new markup without throwing away what has not changed, so that text that somebody selected,
// what they opened and what has the focus stay while an answer grows.
import { h } from '../dom.js';
import { setMarkup } from '../markup.js';

/** Shows HTML that came from the server's renderer, keeping what is the same. */
export function morphMarkup(element, html) {
  if (!element.hasChildNodes()) return setMarkup(element, html);
  morph(element, setMarkup(h('div'), html));
  return element;
}

function morph(shown, wanted) {
  let here = shown.firstChild;
  for (let next = wanted.firstChild; next;) {
    const after = next.nextSibling;
    if (!here) {
      shown.append(next);
    } else {
      const following = here.nextSibling;
      if (!isAlike(here, next)) here.replaceWith(next);
      here = following;
    }
    next = after;
  }
  while (here) {
    const following = here.nextSibling;
    here.remove();
    here = following;
  }
}

/** Whether the node could be brought up to the other; then it was. */
function isAlike(shown, wanted) {
  if (shown.nodeName !== wanted.nodeName) return false;
  if (shown.nodeType === Node.TEXT_NODE) {
    if (shown.data === wanted.data) return true;
    if (wanted.data.startsWith(shown.data)) shown.appendData(wanted.data.slice(shown.data.length));
    else shown.data = wanted.data;
    return true;
  }
  if (shown.nodeType !== Node.ELEMENT_NODE || shown.isEqualNode(wanted)) return true;
  for (const { name } of [...shown.attributes]) if (name !== 'open' && !wanted.hasAttribute(name)) shown.removeAttribute(name);
  for (const { name, value } of wanted.attributes) if (shown.getAttribute(name) !== value) shown.setAttribute(name, value);
  morph(shown, wanted);
  return true;
}

/** Brings a text node's element up to a longer text. */
export function growText(element, text) {
  const node = element.firstChild;
  if (node?.nodeType === Node.TEXT_NODE && text.startsWith(node.data)) {
    if (text.length > node.data.length) node.appendData(text.slice(node.data.length));
  } else element.textContent = text;
}
