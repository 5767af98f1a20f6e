// One stream of events for the whole page. A browser allows few connections to one server, so there is exactly one for a tab,
// and none while the tab has been out of sight for a while.
const listeners = new Map();
/** What was said last of what stands until it is said anew. */
const latest = new Map();
let source = null;
let chat = null;
let asleep = null;
const REST = 60_000;

/** Hears events of a kind: `pulse`, `questions`, `items`, `chat`, `reset`; `online` and `offline` tell of the stream itself. Returns how to stop. */
export function on(kind, work) {
  if (!listeners.has(kind)) listeners.set(kind, new Set());
  listeners.get(kind).add(work);
  // Whoever comes late hears what stands, so that the next news is news to them.
  if (latest.has(kind)) queueMicrotask(() => listeners.get(kind).has(work) && work(latest.get(kind)));
  return () => listeners.get(kind).delete(work);
}

function tell(kind, data) {
  if (kind === 'pulse' || kind === 'questions') latest.set(kind, data);
  for (const work of listeners.get(kind) ?? []) work(data);
}

/** Follows this conversation, from this place on; `null` follows none. */
export function follow(id, after) {
  chat = id ? { id, after } : null;
  start();
}

export function start() {
  source?.close();
  const query = new URLSearchParams();
  if (chat) {
    query.set('chat', chat.id);
    if (chat.after) query.set('after', chat.after);
  }
  source = new EventSource(`/api/events?${query}`);
  source.onopen = () => tell('online');
  source.onerror = () => {
    tell('offline');
    // The browser tries again by itself, unless the answer was a refusal.
    if (source?.readyState === EventSource.CLOSED) setTimeout(() => source?.readyState === EventSource.CLOSED && start(), 2000);
  };
  for (const kind of ['pulse', 'questions', 'items', 'chat', 'reset']) {
    source.addEventListener(kind, (event) => {
      if (chat && event.lastEventId) chat.after = event.lastEventId;
      tell(kind, JSON.parse(event.data));
    });
  }
}

document.addEventListener('visibilitychange', () => {
  clearTimeout(asleep);
  if (document.hidden) {
    asleep = setTimeout(() => { source?.close(); source = null; }, REST);
  } else if (!source) {
    start();
  }
});
