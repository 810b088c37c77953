// charts.js - utilisation over time, and nodes as a map by load: two canvases that the keyboard can walk through.
import { $, USERS, chosen, colour, cores, count, fit, h, hour, memory, percent, pods, setText } from './lib.js';

const LAYERS = USERS.map(([name]) => name);
const NAMES = { prod: 'Prod', mid: 'Mid', batch: 'Batch', system: 'System', idle: 'Idle' };

// ---- utilisation over time

export class Chart {
  constructor() {
    this.minutes = []; // [minute, capacity, prod, mid, batch, system, the same five of memory]
    this.now = null;
    this.at = null; // minute under the cursor
    this.canvas = $('chart');
    this.canvas.addEventListener('keydown', (e) => this.onKey(e));
    this.canvas.addEventListener('pointermove', (e) => this.onPointer(e));
    this.canvas.addEventListener('pointerleave', () => this.point(null));
    for (const i of document.querySelectorAll('[name=chart-resource], [name=chart-range]')) i.addEventListener('change', () => this.draw());
    $('chart-legend').append(...[...LAYERS, 'idle'].map((n) => h('li', {}, h('i', { class: `c-${n}` }), NAMES[n])));
  }

  add(rows) {
    if (!rows.length) return;
    while (this.minutes.length && this.minutes.at(-1)[0] >= rows[0][0]) this.minutes.pop();
    this.minutes.push(...rows);
    while (this.minutes.length > 1440) this.minutes.shift();
    this.draw();
  }

  setNow(sums, time) {
    const row = [time / 60, sums.capacity[0], ...LAYERS.map((n) => sums[n][0]), sums.capacity[1], ...LAYERS.map((n) => sums[n][1])];
    this.now = sums.reporting ? row : null;
    this.draw();
  }

  points() {
    const last = this.minutes.at(-1);
    return this.now && (!last || this.now[0] > last[0]) ? [...this.minutes, this.now] : this.minutes;
  }

  draw() {
    if (this.canvas.closest('[hidden]')) return;
    this.isMemory = chosen('chart-resource') === 'memory';
    const { ctx, width, height } = fit(this.canvas);
    const left = 44;
    const bottom = 22;
    const box = { x: left, y: 6, w: width - left - 6, h: height - bottom - 6 };
    const range = Number(chosen('chart-range'));
    const all = this.points();
    const end = all.length ? all.at(-1)[0] : Math.floor(Date.now() / 60000);
    // A cluster that was just started is not one thin line at the right edge.
    const first = all.length ? all[0][0] : end;
    const span = Math.min(range, Math.max(5, Math.ceil((end - first) * 1.05)));
    const shown = all.filter((r) => r[0] >= end - span);
    Object.assign(this, { box, end, span, shown });
    this.grid(ctx, box, end, span);
    this.areas(ctx, box, shown);
    this.cursor(ctx, box);
    this.describe(shown);
  }

  x(minute) {
    return this.box.x + this.box.w * (1 - (this.end - minute) / this.span);
  }

  share(row, upTo) {
    const base = this.isMemory ? 6 : 1;
    let sum = 0;
    for (let i = 0; i < upTo; i++) sum += row[base + 1 + i];
    return row[base] > 0 ? Math.min(1, sum / row[base]) : 0;
  }

  grid(ctx, box, end, span) {
    ctx.fillStyle = colour('idle');
    ctx.fillRect(box.x, box.y, box.w, box.h);
    ctx.font = '12px system-ui, "DejaVu Sans", sans-serif';
    ctx.fillStyle = colour('soft');
    ctx.textAlign = 'right';
    ctx.textBaseline = 'middle';
    for (const p of [0, 25, 50, 75, 100]) ctx.fillText(`${p}%`, box.x - 7, box.y + box.h * (1 - p / 100));
    ctx.textAlign = 'center';
    ctx.textBaseline = 'top';
    const steps = [1, 2, 5, 10, 15, 30, 60, 120, 240];
    const step = steps.find((s) => (s / span) * box.w >= 62) || 480;
    const zone = new Date().getTimezoneOffset();
    for (let m = Math.ceil((end - span - zone) / step) * step + zone; m <= end; m += step) {
      const at = this.x(m);
      if (at < box.x + 16 || at > box.x + box.w - 14) continue;
      ctx.fillText(hour(m), at, box.y + box.h + 6);
    }
  }

  areas(ctx, box, shown) {
    if (!shown.length) return;
    const y = (row, n) => box.y + box.h * (1 - this.share(row, n));
    // One point is drawn as a minute's width.
    const xs = shown.length > 1 ? shown.map((r) => this.x(r[0])) : [box.x + box.w - Math.max(3, box.w / this.span), box.x + box.w];
    const rows = shown.length > 1 ? shown : [shown[0], shown[0]];
    for (let layer = LAYERS.length; layer > 0; layer--) {
      ctx.fillStyle = colour(LAYERS[layer - 1]);
      ctx.beginPath();
      rows.forEach((r, i) => ctx[i ? 'lineTo' : 'moveTo'](xs[i], y(r, layer)));
      for (let i = rows.length - 1; i >= 0; i--) ctx.lineTo(xs[i], box.y + box.h);
      ctx.fill();
    }
    ctx.strokeStyle = colour('card');
    ctx.lineWidth = 1;
    ctx.globalAlpha = 0.35;
    for (const p of [0.25, 0.5, 0.75]) {
      ctx.beginPath();
      ctx.moveTo(box.x, Math.round(box.y + box.h * p) + 0.5);
      ctx.lineTo(box.x + box.w, Math.round(box.y + box.h * p) + 0.5);
      ctx.stroke();
    }
    ctx.globalAlpha = 1;
  }

  cursor(ctx, box) {
    if (!this.at) return;
    ctx.strokeStyle = colour('text');
    ctx.lineWidth = 1.5;
    ctx.beginPath();
    ctx.moveTo(this.x(this.at[0]), box.y);
    ctx.lineTo(this.x(this.at[0]), box.y + box.h);
    ctx.stroke();
  }

  words(row) {
    const base = this.isMemory ? 6 : 1;
    const parts = LAYERS.map((n, i) => [n, row[base + 1 + i]]).filter(([n, v]) => v > 0 || n !== 'mid');
    const used = parts.reduce((s, [, v]) => s + v, 0);
    const show = (v) => (this.isMemory ? memory(v) : cores(v));
    return `${percent(used, row[base])}% used (${parts.map(([n, v]) => `${n} ${percent(v, row[base])}%`).join(', ')}), ` +
      `idle ${100 - Math.min(100, percent(used, row[base]))}% of ${show(row[base])}${this.isMemory ? '' : ' cores'}`;
  }

  describe(shown) {
    const what = this.isMemory ? 'Memory' : 'CPU';
    const text = `${what} utilisation over time` +
      (shown.length ? `, ${shown.length} minutes. Now ${this.words(shown.at(-1))}` : ': nothing measured yet');
    if (this.canvas.getAttribute('aria-label') !== text) this.canvas.setAttribute('aria-label', text);
    if (!shown.length) setText($('chart-readout'), 'No node has reported its use yet.');
    else if (!this.at) setText($('chart-readout'), '');
  }

  point(row) {
    this.at = row;
    if (row) setText($('chart-readout'), `${hour(row[0])}: ${this.words(row)}`);
    this.draw();
  }

  onPointer(e) {
    if (!this.shown?.length) return;
    const at = this.end - this.span * (1 - (e.offsetX - this.box.x) / this.box.w);
    this.point(this.shown.reduce((a, b) => (Math.abs(b[0] - at) < Math.abs(a[0] - at) ? b : a)));
  }

  onKey(e) {
    const n = this.shown?.length;
    const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -15, PageDown: 15, Home: -1e9, End: 1e9 }[e.key];
    if (!n || step === undefined) return;
    e.preventDefault();
    const from = this.at ? this.shown.indexOf(this.at) : n;
    this.point(this.shown[Math.min(n - 1, Math.max(0, from + step))]);
  }
}

// ---- nodes by load

const BINS = ['below 20%', '20 to 40%', '40 to 60%', '60 to 80%', '80% and more'];

export class NodeMap {
  constructor(open) {
    this.rows = [];
    this.at = -1;
    this.open = open;
    this.canvas = $('map');
    this.canvas.addEventListener('keydown', (e) => this.onKey(e));
    this.canvas.addEventListener('pointermove', (e) => this.point(this.under(e)));
    this.canvas.addEventListener('pointerleave', () => this.point(-1));
    this.canvas.addEventListener('click', (e) => this.rows[this.under(e)] && open(this.rows[this.under(e)].name));
    for (const i of document.querySelectorAll('[name=map-metric]')) i.addEventListener('change', () => this.draw());
    $('map-legend').append(...BINS.map((text, i) => h('li', {}, h('i', { class: `c-load${i}` }), text)),
      h('li', {}, h('i', { class: 'c-unknown' }), 'not reported'));
  }

  set(rows) {
    const name = this.rows[this.at]?.name;
    this.rows = rows;
    this.at = name ? rows.findIndex((r) => r.name === name) : -1;
    this.draw();
  }

  load(r) {
    if (!r.fresh) return -1;
    if (this.metric === 'memory') return percent(r.memUsed, r.memCap);
    if (this.metric === 'batch') return percent(r.batch, r.batchAlloc);
    return percent(r.used, r.cap);
  }

  layout(width) {
    const n = Math.max(1, this.rows.length);
    let size = Math.min(46, Math.floor(Math.sqrt((width * Math.min(420, Math.max(150, n / 8))) / n)));
    size = Math.max(7, size);
    const columns = Math.max(1, Math.floor(width / size));
    return { size, columns, height: Math.ceil(n / columns) * size };
  }

  draw() {
    if (this.canvas.closest('[hidden]')) return;
    this.metric = chosen('map-metric');
    const width = this.canvas.clientWidth;
    const { size, columns, height } = this.layout(width);
    const { ctx } = fit(this.canvas, height);
    const gap = size > 14 ? 3 : 1;
    const colours = [0, 1, 2, 3, 4].map((i) => colour(`load${i}`));
    const unknown = colour('unknown');
    const isDark = matchMedia('(prefers-color-scheme: dark)').matches;
    const ink = isDark ? ['#e8edf6', '#ffffff', '#0e1420', '#0e1420', '#0e1420'] : ['#14213a', '#14213a', '#ffffff', '#14213a', '#ffffff'];
    Object.assign(this, { size, columns });
    ctx.font = `${Math.min(13, size * 0.34)}px system-ui, "DejaVu Sans", sans-serif`;
    ctx.textAlign = 'center';
    ctx.textBaseline = 'middle';
    const bins = [0, 0, 0, 0, 0, 0];
    this.rows.forEach((r, i) => {
      const x = (i % columns) * size;
      const y = Math.floor(i / columns) * size;
      const load = this.load(r);
      const bin = load < 0 ? 5 : Math.min(4, Math.floor(load / 20));
      bins[bin]++;
      ctx.fillStyle = bin === 5 ? unknown : colours[bin];
      ctx.fillRect(x, y, size - gap, size - gap);
      if (size >= 30) {
        ctx.fillStyle = bin === 5 ? colour('text') : ink[bin];
        ctx.fillText(load < 0 ? '?' : String(load), x + (size - gap) / 2, y + (size - gap) / 2 + 1);
      }
    });
    this.mark(ctx, gap);
    this.describe(bins);
  }

  mark(ctx, gap) {
    if (this.at < 0) return;
    ctx.strokeStyle = colour('text');
    ctx.lineWidth = this.size > 14 ? 3 : 2;
    const s = this.size;
    ctx.strokeRect((this.at % this.columns) * s + 1, Math.floor(this.at / this.columns) * s + 1, s - gap - 2, s - gap - 2);
  }

  describe(bins) {
    const said = bins.map((n, i) => [n, i === 5 ? 'not reported' : BINS[i]]).filter(([n]) => n).map(([n, t]) => `${count(n)} ${t}`);
    const text = `Map of ${count(this.rows.length)} nodes by load: ${said.join(', ') || 'none'}`;
    if (this.canvas.getAttribute('aria-label') !== text) this.canvas.setAttribute('aria-label', text);
    const hint = this.rows.length ? `${count(this.rows.length)} nodes. Click one, or walk with the arrow keys and press Enter.` : 'The cluster has no nodes.';
    setText($('map-readout'), this.at < 0 ? hint : this.words(this.rows[this.at]));
  }

  words(r) {
    if (!r.fresh) return `${r.name}: its use is not known (no NodeMetric in the last three minutes), ${pods(r.pods)}`;
    return `${r.name}: CPU ${percent(r.used, r.cap)}% of ${cores(r.cap)} cores (prod ${percent(r.prod, r.cap)}%, batch ${percent(r.batch, r.cap)}%), ` +
      `memory ${percent(r.memUsed, r.memCap)}% of ${memory(r.memCap)}, ${pods(r.pods)}`;
  }

  under(e) {
    const i = Math.floor(e.offsetY / this.size) * this.columns + Math.floor(e.offsetX / this.size);
    return e.offsetX < this.columns * this.size && i < this.rows.length ? i : -1;
  }

  point(i) {
    if (i === this.at) return;
    this.at = i;
    this.draw();
  }

  onKey(e) {
    const n = this.rows.length;
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -this.columns, ArrowDown: this.columns, Home: -1e9, End: 1e9 }[e.key];
    if (e.key === 'Enter' && this.at >= 0) this.open(this.rows[this.at].name);
    if (!n || step === undefined) return;
    e.preventDefault();
    this.point(this.at < 0 ? 0 : Math.min(n - 1, Math.max(0, this.at + step)));
  }
}
