// The one place that puts markup into the page, and the one that starts another thread. Markup is for HTML that the server made and
// cleaned, and for nothing else; a thread runs a file of the page.
const LAYOUT = '/page/js/graph-worker.js';
const policy = globalThis.trustedTypes?.createPolicy('verger', { createHTML: (html) => html, createScriptURL: () => LAYOUT });

/** Shows HTML that came from the server's renderer. */
export function setMarkup(element, html) {
  element.innerHTML = policy ? policy.createHTML(html) : html;
  return element;
}

/** The thread that lays out the graph. */
export function layoutWorker() {
  return new Worker(policy ? policy.createScriptURL(LAYOUT) : LAYOUT);
}
