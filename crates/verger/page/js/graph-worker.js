// The layout of the graph, away from the page's own thread: notes push each other away, links pull, everything keeps together.
//
// Repulsion is reckoned by a tree of squares (far notes count as one), so a round takes n·log n. All numbers lie in typed arrays.
// The cooling follows the clock as well as the rounds: a slow machine gets a coarser picture, not a longer wait.

const SETTLED = 0.003;
const LONGEST_MS = 2400;
const ROUNDS = 260;
const SHOW_MS = 33;
const NEAR = 1.25; // how wide a square may look before it is taken apart
const DEEPEST = 20;

let n = 0;
let x, y, vx, vy, ends, degree, pull, bias;
let heat = 0;
let begun = 0;
let rounds = 0;
let held = -1;
let heldX = 0;
let heldY = 0;
let still = false;
let running = false;
let turn = 0;

/* The tree: children of cell c at 4c; a cell has a sum of places and a weight; `body` is the one note of a leaf, -2 for several
   on one spot, -1 for a cell with children. */
let children, weight, sumX, sumY, body;
let cells = 0;

onmessage = ({ data }) => {
  if (data.kind === 'begin') begin(data);
  else if (data.kind === 'hold') hold(data);
  else if (data.kind === 'drop') held = -1;
  else if (data.kind === 'stop') { running = false; turn += 1; }
};

function begin({ count, edges, quiet }) {
  n = count;
  ends = edges;
  still = quiet;
  [x, y, vx, vy] = [0, 1, 2, 3].map(() => new Float32Array(n));
  degree = new Float32Array(n);
  for (let at = 0; at < ends.length; at += 1) degree[ends[at]] += 1;
  const links = ends.length / 2;
  pull = new Float32Array(links);
  bias = new Float32Array(links);
  for (let at = 0; at < links; at += 1) {
    const [from, to] = [degree[ends[2 * at]], degree[ends[2 * at + 1]]];
    pull[at] = 1 / Math.min(from, to);
    bias[at] = from / (from + to);
  }
  const room = 8 * n + 64;
  children = new Int32Array(4 * room);
  [weight, sumX, sumY] = [0, 1, 2].map(() => new Float32Array(room));
  body = new Int32Array(room);
  place();
  heat = 1;
  rounds = 0;
  begun = performance.now();
  turn += 1;
  running = true;
  run(turn);
}

/** Where notes start: on a spiral, in the order in which links reach them, so that what belongs together starts together. */
function place() {
  const order = reached();
  for (let rank = 0; rank < n; rank += 1) {
    const radius = 11 * Math.sqrt(rank + 0.5);
    const angle = rank * 2.399963;
    x[order[rank]] = radius * Math.cos(angle);
    y[order[rank]] = radius * Math.sin(angle);
  }
}

function reached() {
  const start = new Int32Array(n + 1);
  for (let at = 0; at < ends.length; at += 1) start[ends[at] + 1] += 1;
  for (let at = 0; at < n; at += 1) start[at + 1] += start[at];
  const next = start.slice();
  const near = new Int32Array(ends.length);
  for (let at = 0; at < ends.length; at += 2) {
    near[next[ends[at]]++] = ends[at + 1];
    near[next[ends[at + 1]]++] = ends[at];
  }
  const seeds = Array.from({ length: n }, (_, at) => at).sort((a, b) => degree[b] - degree[a]);
  const seen = new Uint8Array(n);
  const order = new Int32Array(n);
  let filled = 0;
  for (const seed of seeds) {
    if (seen[seed]) continue;
    seen[seed] = 1;
    let read = filled;
    order[filled++] = seed;
    while (read < filled) {
      const at = order[read++];
      for (let link = start[at]; link < start[at + 1]; link += 1) {
        if (!seen[near[link]]) { seen[near[link]] = 1; order[filled++] = near[link]; }
      }
    }
  }
  return order;
}

function hold({ at, toX, toY }) {
  held = at;
  [heldX, heldY] = [toX, toY];
  x[at] = toX;
  y[at] = toY;
  heat = Math.max(heat, 0.25);
  if (!running) {
    running = true;
    begun = performance.now();
    rounds = Math.round(ROUNDS * 0.6);
    turn += 1;
    run(turn);
  }
}

function run(mine) {
  if (mine !== turn) return;
  const from = performance.now();
  do {
    round();
    cool();
  } while (running && performance.now() - from < SHOW_MS);
  if (!still || !running) show();
  if (running) setTimeout(run, 0, mine);
}

function cool() {
  rounds += 1;
  if (held >= 0) { heat = 0.25; begun = performance.now(); rounds = Math.round(ROUNDS * 0.6); return; }
  const gone = Math.max(rounds / ROUNDS, (performance.now() - begun) / LONGEST_MS);
  heat = Math.min(heat, Math.max(0, 1 - gone) ** 1.6);
  if (heat < SETTLED) running = false;
}

function show() {
  const places = new Float32Array(2 * n);
  for (let at = 0; at < n; at += 1) { places[2 * at] = x[at]; places[2 * at + 1] = y[at]; }
  postMessage({ places, settled: !running, rounds, ms: Math.round(performance.now() - begun) }, [places.buffer]);
}

function round() {
  springs();
  grow();
  for (let at = 0; at < n; at += 1) push(at);
  for (let at = 0; at < n; at += 1) {
    if (at === held) { x[at] = heldX; y[at] = heldY; vx[at] = vy[at] = 0; continue; }
    // What has no link would drift away for ever without this.
    const home = (degree[at] ? 0.02 : 0.12) * heat;
    vx[at] = (vx[at] - x[at] * home) * 0.62;
    vy[at] = (vy[at] - y[at] * home) * 0.62;
    x[at] += vx[at];
    y[at] += vy[at];
  }
}

function springs() {
  for (let at = 0; at < pull.length; at += 1) {
    const from = ends[2 * at];
    const to = ends[2 * at + 1];
    const dx = x[to] + vx[to] - x[from] - vx[from] || 0.01;
    const dy = y[to] + vy[to] - y[from] - vy[from] || 0.01;
    const far = Math.sqrt(dx * dx + dy * dy);
    const force = ((far - 34) / far) * heat * pull[at] * 0.8;
    vx[to] -= dx * force * bias[at];
    vy[to] -= dy * force * bias[at];
    vx[from] += dx * force * (1 - bias[at]);
    vy[from] += dy * force * (1 - bias[at]);
  }
}

let rootX = 0;
let rootY = 0;
let rootSize = 1;

function fresh() {
  const cell = cells++;
  children.fill(-1, 4 * cell, 4 * cell + 4);
  weight[cell] = sumX[cell] = sumY[cell] = 0;
  body[cell] = -1;
  return cell;
}

function grow() {
  let [left, right, top, bottom] = [Infinity, -Infinity, Infinity, -Infinity];
  for (let at = 0; at < n; at += 1) {
    if (x[at] < left) left = x[at];
    if (x[at] > right) right = x[at];
    if (y[at] < top) top = y[at];
    if (y[at] > bottom) bottom = y[at];
  }
  rootX = left;
  rootY = top;
  rootSize = Math.max(right - left, bottom - top, 1) * 1.0001;
  cells = 0;
  fresh();
  for (let at = 0; at < n; at += 1) sink(at);
}

function sink(at) {
  let cell = 0;
  let [cellX, cellY, size] = [rootX, rootY, rootSize];
  for (let depth = 0; ; depth += 1) {
    const alone = weight[cell] === 1 ? body[cell] : -1;
    weight[cell] += 1;
    sumX[cell] += x[at];
    sumY[cell] += y[at];
    if (weight[cell] === 1) { body[cell] = at; return; }
    // Notes on one spot share a cell.
    if (depth >= DEEPEST || cells + 2 >= body.length) { body[cell] = -2; return; }
    size /= 2;
    if (alone >= 0) {
      const part = (x[alone] >= cellX + size ? 1 : 0) + (y[alone] >= cellY + size ? 2 : 0);
      const below = fresh();
      children[4 * cell + part] = below;
      weight[below] = 1;
      sumX[below] = x[alone];
      sumY[below] = y[alone];
      body[below] = alone;
      body[cell] = -1;
    }
    const part = (x[at] >= cellX + size ? 1 : 0) + (y[at] >= cellY + size ? 2 : 0);
    if (children[4 * cell + part] < 0) children[4 * cell + part] = fresh();
    if (part & 1) cellX += size;
    if (part & 2) cellY += size;
    cell = children[4 * cell + part];
  }
}

const stack = new Int32Array(4 * (DEEPEST + 4));
const sizes = new Float32Array(4 * (DEEPEST + 4));

function push(at) {
  const hereX = x[at];
  const hereY = y[at];
  const strength = -58 * heat;
  let forceX = 0;
  let forceY = 0;
  let top = 1;
  stack[0] = 0;
  sizes[0] = rootSize * rootSize / (NEAR * NEAR);
  while (top > 0) {
    top -= 1;
    const cell = stack[top];
    const size = sizes[top];
    const mass = weight[cell];
    let dx = sumX[cell] / mass - hereX;
    let dy = sumY[cell] / mass - hereY;
    let square = dx * dx + dy * dy;
    if (size < square || body[cell] !== -1) {
      if (body[cell] === at) continue;
      if (square < 1) {
        // On one spot: pushed apart in a direction of its own.
        dx += Math.cos(at) * 0.5;
        dy += Math.sin(at) * 0.5;
        square = 1;
      }
      const force = (strength * mass) / square;
      forceX += dx * force;
      forceY += dy * force;
      continue;
    }
    const first = 4 * cell;
    for (let part = first; part < first + 4; part += 1) {
      const below = children[part];
      if (below >= 0) { stack[top] = below; sizes[top] = size / 4; top += 1; }
    }
  }
  vx[at] += forceX;
  vy[at] += forceY;
}
