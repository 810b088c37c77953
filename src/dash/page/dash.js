// dash.js - the stream of the view that is shown, and what it says about itself. Messages: src/dash/views.h.
import { $, clock, h, setText } from './lib.js';
import { Chart, NodeMap } from './charts.js';
import { leaveNode, openNode, showMoves, showNode, showNodes, showPending, showTiles, startNodes } from './views.js';

const VIEWS = ['overview', 'nodes', 'node', 'pending', 'moves'];
const SILENCE_MS = 12000; // koordctl says something every five seconds

const nodes = new Map(); // name -> row
let list = []; // the same in the order of names
let view = '';
let stream = null;
let heard = 0;
let time = Math.floor(Date.now() / 1000);
let sources = [];
let broken = ''; // what is wrong with the line to koordctl

const chart = new Chart();
const map = new NodeMap((name) => { location.hash = `#node/${name}`; });

// ---- rows of nodes

function takeRow(r) {
  const [name, flags, cap, prod, mid, batch, system, memCap, memUsed, batchAlloc, pods, used] = r;
  const row = nodes.get(name) || { name, at: nodes.size };
  const state = { fresh: !!(flags & 1), ready: !!(flags & 2), cordoned: !!(flags & 4) };
  Object.assign(row, state, { cap, prod, mid, batch, system, memCap, memUsed, batchAlloc, pods, used });
  nodes.set(name, row);
}

// Messages come in pieces of 500 nodes: one drawing for all of them, in the next frame.
let due = false;
function redraw() {
  if (due) return;
  due = true;
  requestAnimationFrame(() => {
    due = false;
    if (view === 'overview') map.set(list);
    if (view === 'nodes') showNodes(list);
  });
}

function onNodes(m) {
  if (m.first) nodes.clear();
  m.rows.forEach(takeRow);
  list = [...nodes.values()];
  redraw();
}

// ---- what is wrong

function alertOf(s) {
  const what = s.group ? `${s.resource}.${s.group}` : s.resource;
  if (s.state === 'forbidden') return [`You may not read ${what}.`, `Missing right: list and watch on ${what}. The server says: ${s.problem}`, 'warn'];
  if (s.state === 'absent') {
    return [`This cluster has no ${what}.`, "Its CustomResourceDefinition is not installed; koordctl crds prints Koordinator's.", 'warn'];
  }
  return null;
}

function showAlerts() {
  const lost = sources.find((s) => s.state === 'lost');
  const all = sources.map(alertOf).filter(Boolean);
  if (broken) all.unshift([broken, 'What you see is the last that was known.', '']);
  else if (lost) all.unshift(['The API server does not answer.', `${lost.problem}. What you see is the last that was known; koordctl keeps trying.`, '']);
  const text = JSON.stringify(all);
  if ($('alerts').dataset.text === text) return;
  $('alerts').dataset.text = text;
  $('alerts').replaceChildren(...all.map(([title, more, kind]) => h('p', { class: `alert ${kind}`.trim() }, h('b', {}, title), more)));
}

function showLive() {
  const lost = broken || sources.some((s) => s.state === 'lost');
  const listing = sources.some((s) => s.state === 'listing');
  $('live').className = lost ? 'off' : heard && !listing ? 'on' : '';
  setText($('live'), lost ? 'No connection' : !heard ? 'Connecting' : listing ? 'Loading' : 'Live');
}

function setBroken(text) {
  broken = text;
  showAlerts();
  showLive();
}

// ---- the stream

function onState(m) {
  time = m.time;
  sources = m.sources;
  $('clock').dateTime = new Date(time * 1000).toISOString();
  setText($('clock'), clock(time));
  showTiles(m.sums);
  if (view === 'overview') chart.setNow(m.sums, time);
  if (last) LISTS[last.name](last.m, time);
  showAlerts();
  showLive();
}

// Lists are sent when they change; the ages in them change by themselves.
const LISTS = { node: showNode, pending: showPending, moves: showMoves };
let last = null;

function showList(name, m) {
  last = { name, m };
  LISTS[name](m, time);
}

const HANDLERS = { state: onState, minutes: (m) => chart.add(m), nodes: onNodes };
for (const name of Object.keys(LISTS)) HANDLERS[name] = (m) => showList(name, m);

function listen(query) {
  stream?.close();
  const mine = new EventSource(`/stream?${query}`);
  stream = mine;
  for (const [name, fn] of Object.entries(HANDLERS)) {
    mine.addEventListener(name, (e) => {
      heard = performance.now();
      if (broken) setBroken('');
      fn(JSON.parse(e.data));
    });
  }
  mine.onerror = () => {
    if (mine !== stream) return;
    if (mine.readyState === EventSource.CLOSED) setBroken('koordctl does not let this browser in any more: open the URL that it printed.');
    else setBroken('koordctl does not answer; trying again.');
  };
}

setInterval(() => {
  if (heard && !broken && performance.now() - heard > SILENCE_MS) setBroken('koordctl has been silent for a while.');
}, 1000);

// ---- views

function again() {
  chart.draw();
  redraw();
}

function route() {
  const [word, name] = decodeURIComponent(location.hash.slice(1)).split('/');
  if (word === 'main') return; // the link past the navigation
  const next = word === 'node' && name ? 'node' : VIEWS.includes(word) && word !== 'node' ? word : 'overview';
  const isFirst = view === '';
  view = next;
  for (const v of VIEWS) $(`view-${v}`).hidden = v !== next;
  for (const a of document.querySelectorAll('nav a')) {
    if (a.dataset.view === (next === 'node' ? 'nodes' : next)) a.setAttribute('aria-current', 'page');
    else a.removeAttribute('aria-current');
  }
  last = null;
  leaveNode();
  if (next === 'node') openNode(name);
  document.title = `${next === 'node' ? name : $(`h-${next}`).textContent} · koord dashboard`;
  if (!isFirst) {
    // In a frame of its own: it makes the browser lay out the page.
    requestAnimationFrame(() => {
      $('main').focus({ preventScroll: true });
      scrollTo(0, 0);
    });
  }
  listen(next === 'node' ? `node=${encodeURIComponent(name)}` : `view=${next}`);
  again();
}

$('skip').addEventListener('click', (e) => {
  e.preventDefault();
  $('main').focus();
});
startNodes(redraw);
addEventListener('hashchange', route);
new ResizeObserver(again).observe($('main'));
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', again);
route();
