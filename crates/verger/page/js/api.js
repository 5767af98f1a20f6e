// Talking to the server. What goes wrong comes as a Problem with words for the person.

export class Problem extends Error {
  constructor({ reason = 'failed', message = 'that did not work', hint = '' }, status = 0) {
    super(message);
    this.reason = reason;
    this.hint = hint;
    this.status = status;
  }
}

async function send(method, path, body, { signal } = {}) {
  let answer;
  try {
    answer = await fetch(path, {
      method,
      signal,
      credentials: 'same-origin',
      headers: body === undefined ? {} : { 'Content-Type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new Problem({ reason: 'unreachable', message: 'Verger does not answer', hint: 'It may have been stopped. Start it again with verger serve; this page goes on by itself.' });
  }
  if (answer.status === 204) return null;
  const json = answer.headers.get('content-type')?.startsWith('application/json') ? await answer.json().catch(() => null) : null;
  if (answer.ok) return json;
  const problem = new Problem(json?.error ?? {}, answer.status);
  if (problem.reason === 'not_logged_in') dispatchEvent(new CustomEvent('verger:logged-out', { detail: problem }));
  throw problem;
}

/** What stands behind `?` is never the text of a note. */
export function get(path, query, options) {
  const behind = query ? `?${new URLSearchParams(Object.entries(query).filter(([, value]) => value !== undefined && value !== null))}` : '';
  return send('GET', path + behind, undefined, options);
}
export const post = (path, body = {}, options) => send('POST', path, body, options);
export const put = (path, body = {}, options) => send('PUT', path, body, options);
export const remove = (path, options) => send('DELETE', path, undefined, options);
