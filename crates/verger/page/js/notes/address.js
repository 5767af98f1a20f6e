// Addresses of notes in the page, and what to copy of them.

/** The address of a note's page. */
export function pageOf(path, query = {}) {
  const behind = new URLSearchParams(Object.entries(query).filter(([, value]) => value));
  return `#/notes/${path.split('/').map(encodeURIComponent).join('/')}${behind.size ? `?${behind}` : ''}`;
}

/** The last name of a path. */
export const nameOf = (path) => path.split('/').at(-1);

/** The folder around a path; empty for the root. */
export const folderOf = (path) => path.split('/').slice(0, -1).join('/');
