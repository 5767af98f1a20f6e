// The words of a question: who asks, and for what.
import { count } from '../dom.js';

/** One sentence with the model's name in quotes. */
export function sentence(question) {
  const who = `“${question.model || 'The model'}”`;
  if (question.kind === 'reads') return `${who} wants to read ${count(question.rows.length, 'note')}`;
  if (question.kind === 'results') return `${count(question.rows.length, 'result has', 'results have')} been found and can be shared with ${who}`;
  if (question.kind === 'questions') return `${who} has ${question.asked.length === 1 ? 'a question' : `${question.asked.length} questions`} for you`;
  return `${who} wants to ${lower(question.summary || `use ${question.tool}`)}`;
}

/** Summaries begin small, as a part of a sentence; one that does not is made so, unless it begins with a name. */
function lower(text) {
  return /^[A-Z][a-z]+ /.test(text) ? text[0].toLowerCase() + text.slice(1) : text;
}

export const TITLES = { approval: 'May it do this?', reads: 'May it read these?', results: 'Share these results?', questions: 'A question for you' };

/** What a yes means, on the button. */
export function yesWords(question, ticked) {
  if (question.kind === 'reads') return ticked ? `Share ${count(ticked, 'note')}` : 'Share nothing';
  if (question.kind === 'results') return ticked ? `Share ${count(ticked, 'result')}` : 'Share nothing';
  return question.kind === 'questions' ? 'Answer' : 'Approve';
}
