// The one place that puts markup into the page. It is for HTML that the server made and cleaned, and for nothing else.
const policy = globalThis.trustedTypes?.createPolicy('verger', { createHTML: (html) => html });

/** Shows HTML that came from the server's renderer. */
export function setMarkup(element, html) {
  element.innerHTML = policy ? policy.createHTML(html) : html;
  return element;
}
