// The approval dialog and the inbox.
export function begin() {}
