// Files that go with a message: by the button, by paste, by drop. Images and texts, up to 20 MB together.
import { fill, h, icon } from '../dom.js';
import { trouble } from '../toast.js';

const MOST_BYTES = 20 * 1024 * 1024;
const MOST_FILES = 20;
const TEXT = /^text\/|^application\/(json|xml|yaml|x-yaml|toml|javascript|sql|x-sh)|\+(json|xml)$/;
const TEXT_NAME = /\.(md|markdown|txt|csv|tsv|json|canvas|base|ya?ml|toml|xml|html?|css|m?js|ts|py|rs|go|java|c|h|cpp|sh|sql|log|tex|bib|org|rst|ics|vcf|diff|patch)$/i;
const IMAGE = /^image\/(png|jpeg|gif|webp)$/;

/** `changed()` is told when files come or go. */
export function attachments(changed) {
  let files = [];
  const list = h('ul.chips', { hidden: true, 'aria-label': 'Attached files' });
  const picker = h('input', { type: 'file', multiple: true, hidden: true, tabindex: '-1', 'aria-label': 'Files to attach' });
  const button = h('button.quiet.icon', { type: 'button', 'aria-label': 'Attach images or text files', title: 'Attach images or text files', onclick: () => picker.click() }, icon('attach'));
  const draw = () => {
    list.hidden = !files.length;
    fill(list, files.map((file) => h('li.chip',
      file.preview ? h('img', { src: file.preview, alt: '', width: '22', height: '22' }) : icon('file'), h('span.clip', { title: file.name }, file.name),
      h('button.quiet.icon', { type: 'button', 'aria-label': `Remove ${file.name}`, onclick: () => drop(file) }, icon('close')))));
    changed();
  };
  const drop = (file) => {
    if (file.preview) URL.revokeObjectURL(file.preview);
    files = files.filter((other) => other !== file);
    draw();
  };
  const addFiles = async (given) => {
    for (const file of given) {
      try {
        files.push(await accept(file, files));
      } catch (problem) {
        trouble(problem);
      }
    }
    draw();
  };
  picker.addEventListener('change', () => { addFiles([...picker.files]); picker.value = ''; });
  const clear = () => {
    for (const file of files) if (file.preview) URL.revokeObjectURL(file.preview);
    files = [];
    draw();
  };
  /** Takes what was pasted or dropped, if it was files; text is left to the field. */
  const take = (event, data) => {
    const given = [...(data?.files ?? [])];
    if (!given.length) return;
    event.preventDefault();
    addFiles(given);
  };
  return {
    elements: { list, picker, button }, take, clear,
    count: () => files.length,
    given: () => files.map(({ name, media_type, base64 }) => ({ name, media_type, base64 })),
  };
}

async function accept(file, others) {
  const image = IMAGE.test(file.type);
  if (!image && !TEXT.test(file.type) && !TEXT_NAME.test(file.name)) {
    throw { message: `${file.name} cannot be attached`, hint: 'Images (PNG, JPEG, GIF, WebP) and text files can. Put other files into the vault and mention them.' };
  }
  const sum = others.reduce((bytes, other) => bytes + other.bytes, file.size);
  if (sum > MOST_BYTES) throw { message: `${file.name} is too much`, hint: 'A message carries at most 20 MB of files.' };
  if (others.length >= MOST_FILES) throw { message: `${file.name} is one too many`, hint: `A message carries at most ${MOST_FILES} files.` };
  const base64 = await read(file);
  // Two pictures from the clipboard are both called image.png.
  const name = others.some((other) => other.name === file.name) ? file.name.replace(/(\.\w+)?$/, ` ${others.length + 1}$1`) : file.name;
  return { name, media_type: file.type || 'text/plain', base64, bytes: file.size, preview: image ? URL.createObjectURL(file) : null };
}

function read(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(',') + 1));
    reader.onerror = () => reject({ message: `${file.name} cannot be read`, hint: 'It may have been moved or deleted in the meantime.' });
    reader.readAsDataURL(file);
  });
}
