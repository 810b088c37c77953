// lib.js - elements, figures and tables. Whatever comes from the cluster is put into text nodes.

/** An element with properties and children; strings become text. */
export function h(tag, props = {}, ...children) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(props)) {
    if (v === undefined || v === null || v === false) continue;
    if (k === 'class') e.className = v;
    else e.setAttribute(k, v === true ? '' : v);
  }
  e.append(...children.flat().filter((c) => c !== null && c !== undefined));
  return e;
}

export const $ = (id) => document.getElementById(id);

export function setText(e, text) {
  if (e.textContent !== text) e.textContent = text;
}

// ---- figures

const number = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
export const count = (n) => number.format(n);
export const pods = (n) => `${count(n)} ${n === 1 ? 'pod' : 'pods'}`;

export function cores(mcpu) {
  const c = mcpu / 1000;
  return c === 0 ? '0' : c >= 100 ? number.format(c) : c >= 10 ? c.toFixed(1) : c.toFixed(2);
}

export function memory(mib) {
  for (const unit of ['MiB', 'GiB', 'TiB']) {
    if (mib < 1024 || unit === 'TiB') return `${mib >= 100 || Number.isInteger(mib) ? number.format(mib) : mib.toFixed(1)} ${unit}`;
    mib /= 1024;
  }
  return '';
}

export const percent = (part, of) => (of > 0 ? Math.round((100 * part) / of) : 0);

const HOUR = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' };
export const clock = (seconds) => new Date(seconds * 1000).toLocaleTimeString([], { ...HOUR, second: '2-digit' });
export const hour = (minute) => new Date(minute * 60000).toLocaleTimeString([], HOUR);

export function age(since, now) {
  const s = Math.max(0, now - since);
  if (!since) return '';
  if (s < 120) return `${Math.floor(s)} s`;
  if (s < 7200) return `${Math.floor(s / 60)} min`;
  if (s < 172800) return `${Math.floor(s / 3600)} h`;
  return `${Math.floor(s / 86400)} d`;
}

// ---- bars

export const USERS = [['prod', 'prod'], ['mid', 'mid'], ['batch', 'batch'], ['system', 'system']];

/** A bar of parts [[class, amount], ...] of a whole; its text says the same. */
export function bar(parts, whole, text) {
  const e = h('div', { class: 'bar', role: 'img', 'aria-label': text });
  updateBar(e, parts, whole, text);
  return e;
}

export function updateBar(e, parts, whole, text) {
  if (e.getAttribute('aria-label') !== text || !e.firstChild) e.setAttribute('aria-label', text);
  const sum = parts.reduce((s, [, v]) => s + v, 0);
  const scale = whole > 0 ? 100 / Math.max(whole, sum) : 0;
  parts.forEach(([name, v], i) => {
    const piece = e.children[i] || e.appendChild(h('i', { class: `c-${name}` }));
    const width = `${(v * scale).toFixed(2)}%`;
    if (piece.style.width !== width) piece.style.width = width;
  });
}

export function tag(text, kind = '') {
  return h('span', { class: `tag ${kind}`.trim() }, text);
}

// ---- tables

const NEW_ROWS = 30; // in one frame, so that a long table is no long task

/**
 * Rows by key: known ones are updated in place, so that focus and selection stay. While somebody is in the table with
 * the keyboard its order does not change. A long list grows over several frames.
 */
export function keyed(body, items, key, make, update) {
  const had = body.rowsByKey || (body.rowsByKey = new Map());
  const seen = new Set();
  const isBusy = body.contains(document.activeElement);
  let before = body.firstChild;
  let made = 0;
  const turn = (body.turn = (body.turn || 0) + 1);
  for (const item of items) {
    const k = key(item);
    let row = had.get(k);
    if (seen.has(k)) continue;
    if (!row && made === NEW_ROWS) {
      requestAnimationFrame(() => { if (body.turn === turn) keyed(body, items, key, make, update); });
      return; // what is to go goes with the last of them
    }
    seen.add(k);
    if (!row) {
      row = make(item);
      made++;
      had.set(k, row);
      body.insertBefore(row, isBusy ? null : before);
    } else if (row === before) {
      before = before.nextSibling;
    } else if (!isBusy) {
      body.insertBefore(row, before);
    }
    update(row, item);
  }
  for (const [k, row] of had) {
    if (seen.has(k)) continue;
    had.delete(k);
    row.remove();
  }
}

export function forget(body) {
  body.replaceChildren();
  body.rowsByKey = new Map();
  body.turn = 0;
}

/** A table with a caption that is read, not seen. */
export function table(caption, columns) {
  const body = h('tbody');
  const head = h('tr', {}, columns.map(([text, cls]) => h('th', { scope: 'col', class: cls }, text)));
  const t = h('table', {}, h('caption', { class: 'unseen' }, caption), h('thead', {}, head), body);
  return { card: h('div', { class: 'card table-card', tabindex: '0', role: 'region', 'aria-label': caption }, t), body };
}

/** Sets the texts of a row's cells; a cell may be an element that is kept from the row's making. */
export function cells(row, texts) {
  texts.forEach((text, i) => {
    if (typeof text === 'string') setText(row.children[i], text);
  });
}

/** The value of a group of radio buttons. */
export const chosen = (name) => document.querySelector(`[name=${name}]:checked`).value;

/** The first k items, by a number of each; without sorting all of them. */
export function first(items, k, number) {
  const kept = []; // [number, item], in order
  items.forEach((item) => {
    const n = number(item);
    if (kept.length === k && n >= kept[k - 1][0]) return;
    let lo = 0;
    let hi = kept.length;
    while (lo < hi) {
      const mid = (lo + hi) >> 1;
      if (n < kept[mid][0]) hi = mid;
      else lo = mid + 1;
    }
    kept.splice(lo, 0, [n, item]);
    if (kept.length > k) kept.pop();
  });
  return kept.map((e) => e[1]);
}

export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/** A canvas as large as its box, in device pixels; returns its context and size in CSS pixels. */
export function fit(canvas, height) {
  const ratio = window.devicePixelRatio || 1;
  const width = canvas.clientWidth;
  if (height !== undefined) canvas.style.height = `${height}px`;
  const tall = height === undefined ? canvas.clientHeight : height;
  const w = Math.max(1, Math.round(width * ratio));
  const t = Math.max(1, Math.round(tall * ratio));
  if (canvas.width !== w) canvas.width = w;
  if (canvas.height !== t) canvas.height = t;
  const ctx = canvas.getContext('2d');
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.clearRect(0, 0, width, tall);
  return { ctx, width, height: tall };
}
