// The words of a question: who asks, and for what.
import { count } from '../dom.js';

/** One sentence with the model's name in quotes. */
export function sentence(question) {
  const who = `“${question.model || 'The model'}”`;
  if (question.kind === 'reads') return `${who} wants to read ${count(question.rows.length, 'note')}`;
  if (question.kind === 'results') return `${count(question.rows.length, 'result has', 'results have')} been found and can be shared with ${who}`;
  if (question.kind === 'questions') return `${who} has ${question.asked.length === 1 ? 'a question' : `${question.asked.length} questions`} for you`;
  if (question.files?.length) return `${who} wants to ${deed(question.files)}`;
  const summary = question.summary || `use ${question.tool}`;
  return `${who} wants to ${/^[A-Z][a-z]+ /.test(summary) ? summary[0].toLowerCase() + summary.slice(1) : summary}`;
}

const DEEDS = { create: 'make', replace: 'change', delete: 'delete', move: 'move', folder: 'make or remove the folder' };

/** What happens to files, from what would really change. */
function deed(files) {
  const [first] = files;
  if (files.length === 1) return `${DEEDS[first.kind] ?? 'change'} ${first.path}${first.kind === 'move' && first.to ? ` to ${first.to}` : ''}`;
  return files.every((file) => file.kind === first.kind) ? `${DEEDS[first.kind] ?? 'change'} ${count(files.length, 'file')}` : `change ${count(files.length, 'file')}`;
}

export const TITLES = { approval: 'May it do this?', reads: 'May it read these?', results: 'Share these results?', questions: 'A question for you' };

/** What a yes means, on the button. */
export function yesWords(question, ticked) {
  if (question.kind === 'reads') return ticked ? `Share ${count(ticked, 'note')}` : 'Share nothing';
  if (question.kind === 'results') return ticked ? `Share ${count(ticked, 'result')}` : 'Share nothing';
  return question.kind === 'questions' ? 'Answer' : 'Approve';
}
