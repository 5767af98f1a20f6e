// Taking back a change from the conversation: first what would change is shown, then it is done.
import { h } from '../dom.js';
import { post } from '../api.js';
import { openDialog } from '../dialog.js';
import { diffList } from '../diff.js';
import { toast } from '../toast.js';

/** Shows what taking back would change, and does it if the person wants that. `what` is {id} or {task}. */
export async function takeBack(what) {
  const { shown } = await post('/api/undo', what);
  const sure = await openDialog({
    title: 'Take this change back?', className: 'wide',
    make: (close) => [
      h('div.dialog-body', h('p', `This would ${shown.summary}.`), diffList(shown.files)),
      h('footer.dialog-foot', h('button.quiet', { type: 'button', onclick: () => close(false) }, 'Cancel'),
        h('button.main', { type: 'button', autofocus: true, onclick: () => close(true) }, 'Take back')),
    ],
  });
  if (sure !== true) return;
  const { done } = await post('/api/undo', { ...what, saw: shown.saw });
  toast(done.text || 'It was taken back', { action: done.checkpoint ? { name: 'Show', run: () => { location.hash = `#/changes/${encodeURIComponent(done.checkpoint)}`; } } : undefined });
}
