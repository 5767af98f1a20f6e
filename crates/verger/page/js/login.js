// A login link: what stands behind # goes to the server once and becomes a cookie that no script can read.
import { post } from './api.js';

const said = document.getElementById('said');
const hint = document.getElementById('hint');
const token = location.hash.slice(1);
history.replaceState(null, '', '/login');

async function logIn() {
  if (!token) {
    said.textContent = 'You are not logged in.';
    hint.textContent = 'Open the link that verger serve printed, or get a new one: verger serve --link';
    return;
  }
  try {
    await post('/api/login', { token });
    location.replace('/');
  } catch (problem) {
    said.textContent = problem.message;
    hint.textContent = problem.hint;
  }
}

logIn();
