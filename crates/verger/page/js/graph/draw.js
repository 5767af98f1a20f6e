// Drawing the graph on a canvas, in levels of detail: links are drawn once into a picture of their own, which is only moved while
// the person pans and zooms; names are drawn where there is room for them.

const LINKS_AT_ONCE = 3000; // links drawn in one frame: a part of all while the layout moves, else the next part
const NAMES = 160;
const STROKE = 800; // links of one stroke; longer paths get slow

export class Drawing {
  /** `colours` gives the colours of the theme: line, ink, muted, accent, mark, panel, and one for each group. */
  constructor(canvas, graph, colours) {
    this.canvas = canvas;
    this.graph = graph;
    this.colours = colours;
    this.scale = 1;
    this.left = 0;
    this.top = 0;
    this.places = null;
    this.moving = true;
    this.focus = -1;
    this.hits = null;
    this.back = document.createElement('canvas');
    this.spare = document.createElement('canvas');
    this.backAt = null;
    this.whole = false;
    this.job = null;
    this.frame = 0;
    this.crisp = 0;
    this.sizes = Float32Array.from(graph.nodes, (node) => 2.4 + Math.min(9, Math.sqrt(node.links) * 1.15));
    this.near = neighbours(graph);
    this.byRank = Array.from(graph.nodes.keys()).sort((a, b) => graph.nodes[b].links - graph.nodes[a].links);
    this.resize();
  }

  resize() {
    const { clientWidth, clientHeight } = this.canvas;
    this.ratio = Math.min(devicePixelRatio || 1, 2);
    this.width = Math.max(1, clientWidth);
    this.height = Math.max(1, clientHeight);
    for (const canvas of [this.canvas, this.back, this.spare]) {
      canvas.width = Math.round(this.width * this.ratio);
      canvas.height = Math.round(this.height * this.ratio);
    }
    this.backAt = null;
    this.ask();
  }

  setPlaces(places, moving) {
    const first = !this.places;
    this.places = places;
    this.moving = moving;
    this.whole = false;
    this.job = null;
    if (first || (this.following && moving)) this.fit();
    if (!moving && this.following) { this.fit(); this.following = false; }
    this.ask();
  }

  /** All notes fit into the picture. */
  fit() {
    if (!this.places) return;
    let [left, right, top, bottom] = [Infinity, -Infinity, Infinity, -Infinity];
    for (let at = 0; at < this.places.length; at += 2) {
      left = Math.min(left, this.places[at]); right = Math.max(right, this.places[at]);
      top = Math.min(top, this.places[at + 1]); bottom = Math.max(bottom, this.places[at + 1]);
    }
    const margin = 40;
    this.scale = Math.min((this.width - margin) / Math.max(right - left, 1), (this.height - margin) / Math.max(bottom - top, 1), 2.5);
    this.left = this.width / 2 - ((left + right) / 2) * this.scale;
    this.top = this.height / 2 - ((top + bottom) / 2) * this.scale;
    this.backAt = null;
    this.ask();
  }

  pan(dx, dy) {
    this.left += dx;
    this.top += dy;
    this.following = false;
    this.ask();
  }

  zoom(by, atX = this.width / 2, atY = this.height / 2) {
    const scale = Math.min(8, Math.max(0.02, this.scale * by));
    this.left = atX - ((atX - this.left) / this.scale) * scale;
    this.top = atY - ((atY - this.top) / this.scale) * scale;
    this.scale = scale;
    this.following = false;
    this.ask();
  }

  /** Brings a note into the middle if it is out of sight. */
  reveal(at) {
    const [x, y] = this.screen(at);
    if (x < 40 || y < 40 || x > this.width - 40 || y > this.height - 40) this.pan(this.width / 2 - x, this.height / 2 - y);
  }

  screen(at) {
    return [this.places[2 * at] * this.scale + this.left, this.places[2 * at + 1] * this.scale + this.top];
  }

  world(x, y) {
    return [(x - this.left) / this.scale, (y - this.top) / this.scale];
  }

  /** The note at a place of the canvas, if any. */
  at(x, y) {
    if (!this.places) return -1;
    let best = -1;
    let nearest = 144;
    for (let at = 0; at < this.graph.nodes.length; at += 1) {
      const dx = this.places[2 * at] * this.scale + this.left - x;
      const dy = this.places[2 * at + 1] * this.scale + this.top - y;
      const square = dx * dx + dy * dy;
      if (square < nearest) { nearest = square; best = at; }
    }
    return best;
  }

  setFocus(at) {
    if (this.focus === at) return;
    this.focus = at;
    this.ask();
  }

  setHits(hits) {
    this.hits = hits;
    this.ask();
  }

  /** Draws with the next frame. */
  ask() {
    this.frame ||= requestAnimationFrame(() => { this.frame = 0; this.draw(); });
  }

  end() {
    cancelAnimationFrame(this.frame);
    clearTimeout(this.crisp);
    this.frame = -1;
  }

  draw() {
    if (!this.places) return;
    const pen = this.canvas.getContext('2d');
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
    this.drawBack(pen);
    pen.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    const lit = this.focus >= 0 ? new Set([this.focus, ...this.near(this.focus)]) : this.hits;
    if (this.focus >= 0) this.drawFocusLinks(pen);
    this.drawNotes(pen, lit);
    this.drawNames(pen, lit);
  }

  /** The picture of the links, moved and stretched to where they are now; one that fits follows when things are quiet. */
  drawBack(pen) {
    if (!this.backAt || this.moving) this.sketch();
    if (!this.moving && !(this.whole && same(this.backAt, this)) && !(this.job && same(this.job, this))) {
      this.job = null;
      clearTimeout(this.crisp);
      this.crisp = setTimeout(() => this.sharpen(), this.whole ? 140 : 0);
    }
    const by = this.scale / this.backAt.scale;
    pen.globalAlpha = this.focus >= 0 || this.hits ? 0.35 : 1;
    pen.setTransform(by, 0, 0, by, (this.left - this.backAt.left * by) * this.ratio, (this.top - this.backAt.top * by) * this.ratio);
    pen.drawImage(this.back, 0, 0);
    pen.globalAlpha = 1;
  }

  /** Some of the links at once, evenly chosen. */
  sketch() {
    this.backAt = { scale: this.scale, left: this.left, top: this.top };
    const step = Math.max(1, Math.ceil(this.graph.edges.length / 2 / LINKS_AT_ONCE));
    this.strokeLinks(this.blank(this.back), this.backAt, 0, this.graph.edges.length, step);
    this.whole = step === 1;
  }

  /** All links, some in each frame, into the spare picture; it takes the place of the other when it is done. */
  sharpen() {
    const job = { scale: this.scale, left: this.left, top: this.top, next: 0 };
    this.job = job;
    const pen = this.blank(this.spare);
    const part = () => {
      if (this.job !== job || this.frame === -1) return;
      const end = Math.min(job.next + 2 * LINKS_AT_ONCE, this.graph.edges.length);
      this.strokeLinks(pen, job, job.next, end, 1);
      job.next = end;
      if (end < this.graph.edges.length) { requestAnimationFrame(part); return; }
      [this.back, this.spare] = [this.spare, this.back];
      this.backAt = { scale: job.scale, left: job.left, top: job.top };
      this.whole = true;
      this.job = null;
      this.ask();
    };
    part();
  }

  blank(canvas) {
    const pen = canvas.getContext('2d');
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, canvas.width, canvas.height);
    pen.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    return pen;
  }

  strokeLinks(pen, { scale, left, top }, from, end, step) {
    const { edges } = this.graph;
    const { places } = this;
    pen.strokeStyle = this.colours.line;
    pen.globalAlpha = Math.min(1, Math.max(0.25, 1.1 - edges.length / 40000));
    pen.lineWidth = Math.min(1.2, Math.max(0.5, scale));
    let drawn = 0;
    pen.beginPath();
    for (let at = from; at < end; at += 2 * step) {
      const fromX = places[2 * edges[at]] * scale + left;
      const fromY = places[2 * edges[at] + 1] * scale + top;
      const toX = places[2 * edges[at + 1]] * scale + left;
      const toY = places[2 * edges[at + 1] + 1] * scale + top;
      if ((fromX < 0 && toX < 0) || (fromY < 0 && toY < 0) || (fromX > this.width && toX > this.width) || (fromY > this.height && toY > this.height)) continue;
      pen.moveTo(fromX, fromY);
      pen.lineTo(toX, toY);
      drawn += 1;
      if (drawn % STROKE === 0) { pen.stroke(); pen.beginPath(); }
    }
    pen.stroke();
    pen.globalAlpha = 1;
  }

  drawFocusLinks(pen) {
    pen.strokeStyle = this.colours.accent;
    pen.lineWidth = 1.4;
    pen.beginPath();
    const [x, y] = this.screen(this.focus);
    for (const other of this.near(this.focus)) {
      const [toX, toY] = this.screen(other);
      pen.moveTo(x, y);
      pen.lineTo(toX, toY);
    }
    pen.stroke();
  }

  drawNotes(pen, lit) {
    const { places, scale, left, top } = this;
    const zoomed = Math.min(1.6, Math.max(0.35, Math.sqrt(this.scale)));
    // Squares cost a fraction of circles; where dots are tiny or fly about, nobody sees the difference.
    const many = this.graph.nodes.length > 1500;
    for (const [group, members] of this.colours.members.entries()) {
      for (const bright of lit ? [false, true] : [true]) {
        pen.fillStyle = this.colours.groups[group];
        pen.globalAlpha = bright ? 1 : 0.25;
        pen.beginPath();
        for (const at of members) {
          if (lit && lit.has(at) !== bright) continue;
          const x = places[2 * at] * scale + left;
          const y = places[2 * at + 1] * scale + top;
          if (x < -12 || y < -12 || x > this.width + 12 || y > this.height + 12) continue;
          const size = this.sizes[at] * zoomed;
          if (many && (size < 2 || this.moving)) pen.rect(x - size, y - size, 2 * size, 2 * size);
          else { pen.moveTo(x + size, y); pen.arc(x, y, size, 0, 6.2832); }
        }
        pen.fill();
      }
    }
    pen.globalAlpha = 1;
    if (this.focus >= 0) {
      const [x, y] = this.screen(this.focus);
      pen.strokeStyle = this.colours.ink;
      pen.lineWidth = 2;
      pen.beginPath();
      pen.arc(x, y, this.sizes[this.focus] * zoomed + 3, 0, 6.2832);
      pen.stroke();
    }
  }

  /** Names: of what is lit; else of the most linked notes in sight, more of them the nearer one looks. */
  drawNames(pen, lit) {
    const few = this.graph.nodes.length <= 60;
    // While the picture is moved there is no time for all of them.
    const most = same(this.backAt, this) ? NAMES : 24;
    const wanted = lit ? [...lit].slice(0, Math.min(most, 60)) : this.moving && !few ? [] : this.inSight(Math.min(most, few || this.scale > 1.1 ? NAMES : this.scale > 0.45 ? 40 : 14));
    pen.font = `12px ${getComputedStyle(this.canvas).fontFamily}`;
    pen.textAlign = 'center';
    pen.lineWidth = 3;
    pen.lineJoin = 'round';
    pen.strokeStyle = this.colours.panel;
    pen.fillStyle = this.colours.ink;
    const taken = [];
    for (const at of wanted) {
      const [x, y] = this.screen(at);
      if (x < 0 || y < 0 || x > this.width || y > this.height) continue;
      const { name } = this.graph.nodes[at];
      const text = name.length > 32 ? `${name.slice(0, 31)}…` : name;
      const half = text.length * 3.3;
      const below = y + this.sizes[at] + 13;
      if (at !== this.focus && taken.some((box) => Math.abs(box.x - x) < box.half + half && Math.abs(box.y - below) < 13)) continue;
      taken.push({ x, y: below, half });
      pen.strokeText(text, x, below);
      pen.fillText(text, x, below);
    }
  }

  inSight(most) {
    const found = [];
    for (const at of this.byRank) {
      const [x, y] = this.screen(at);
      if (x > 0 && y > 0 && x < this.width && y < this.height) found.push(at);
      if (found.length >= most) break;
    }
    return found;
  }

  /** The picture as an SVG text. */
  svg() {
    const safe = (text) => text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`).replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, '');
    const { edges, nodes } = this.graph;
    const lines = [];
    for (let at = 0; at < edges.length; at += 2) {
      const [[a, b], [c, d]] = [this.screen(edges[at]), this.screen(edges[at + 1])];
      lines.push(`M${a.toFixed(1)} ${b.toFixed(1)}L${c.toFixed(1)} ${d.toFixed(1)}`);
    }
    const circles = this.colours.members.flatMap((members, group) => members.map((at) => {
      const [x, y] = this.screen(at);
      return `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="${this.sizes[at].toFixed(1)}" fill="${this.colours.groups[group]}"><title>${safe(nodes[at].name)}</title></circle>`;
    }));
    const names = this.inSight(NAMES).map((at) => {
      const [x, y] = this.screen(at);
      return `<text x="${x.toFixed(1)}" y="${(y + this.sizes[at] + 13).toFixed(1)}">${safe(nodes[at].name)}</text>`;
    });
    return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${this.width} ${this.height}"><rect width="100%" height="100%" fill="${this.colours.panel}"/>`
      + `<path d="${lines.join('')}" stroke="${this.colours.line}" stroke-width=".6" fill="none"/>${circles.join('')}<g font-family="sans-serif" font-size="12" text-anchor="middle" fill="${this.colours.ink}">${names.join('')}</g></svg>`;
  }
}

/** Whether two pictures show the same part, equally large. */
const same = (one, other) => one.scale === other.scale && one.left === other.left && one.top === other.top;

/** For each note those that are linked with it. */
function neighbours({ nodes, edges }) {
  const lists = Array.from(nodes, () => []);
  for (let at = 0; at < edges.length; at += 2) {
    lists[edges[at]].push(edges[at + 1]);
    lists[edges[at + 1]].push(edges[at]);
  }
  return (at) => lists[at];
}
