// views.js - tiles, tables and the view of one node.
import { $, USERS, age, bar, cells, clock, cores, count, first, forget, h, keyed, memory, percent, pods, setText, table, tag, updateBar } from './lib.js';

const link = (name) => h('a', { href: `#node/${name}` }, name);

// ---- tiles

const TILES = ['CPU', 'Memory', 'Batch CPU', 'Nodes', 'Pods', 'Pending'];
const tiles = new Map();

function tile(name) {
  if (!tiles.has(name)) {
    const t = { big: h('p', { class: 'big' }), bar: bar([], 0, ''), small: h('p', { class: 'small' }) };
    t.bar.hidden = !['CPU', 'Memory', 'Batch CPU'].includes(name);
    $('tiles').append(h('li', { class: 'tile' }, h('h2', {}, name), t.big, t.bar, t.small));
    tiles.set(name, t);
  }
  return tiles.get(name);
}

function setTile(name, big, small, parts = [], whole = 0) {
  const t = tile(name);
  setText(t.big, big);
  setText(t.small, small);
  if (parts.length) updateBar(t.bar, parts, whole, `${name}: ${small}`);
}

export function showTiles(s) {
  const usedBy = (i) => USERS.map(([n]) => [n, s[n][i]]);
  const known = s.reporting > 0;
  TILES.forEach(tile);
  for (const [name, i, show] of [['CPU', 0, (v) => `${cores(v)} cores`], ['Memory', 1, memory]]) {
    const c = s.capacity[i];
    setTile(name, known ? `${percent(s.used[i], c)}%` : '–',
      known ? `prod ${percent(s.prod[i], c)}%, batch ${percent(s.batch[i], c)}% of ${show(c)}` : 'not reported', usedBy(i), c);
  }
  const alloc = s.batchAllocatable[0];
  setTile('Batch CPU', alloc > 0 ? `${percent(s.batch[0], alloc)}%` : '–',
    alloc > 0 ? `${cores(s.batch[0])} used, ${cores(s.batchRequested[0])} requested of ${cores(alloc)}` : 'no batch resources', [['batch', s.batch[0]]], alloc);
  setTile('Nodes', count(s.nodes), s.reporting === s.nodes ? 'all report their use' : `${count(s.reporting)} report their use`);
  setTile('Pods', count(s.pods - s.pending), 'placed on nodes');
  setTile('Pending', count(s.pending), s.pending === 1 ? 'waits for a node' : 'wait for a node');
  setText($('pending-count'), count(s.pending));
  $('pending-count').hidden = !s.pending;
}

// ---- nodes

const MORE = 60; // rows at first, and with each press of the button
const order = { by: 'cpu', down: true, shown: MORE };
const keys = {
  name: (r) => r.at,
  cpu: (r) => (r.fresh ? r.used / (r.cap || 1) : -1),
  memory: (r) => (r.fresh ? r.memUsed / (r.memCap || 1) : -1),
  batch: (r) => (r.fresh ? r.batch / (r.batchAlloc || Infinity) : -1),
  pods: (r) => r.pods,
};

export function startNodes(redraw) {
  for (const b of document.querySelectorAll('[data-sort]')) {
    b.addEventListener('click', () => {
      order.down = order.by === b.dataset.sort ? !order.down : b.dataset.sort !== 'name';
      order.by = b.dataset.sort;
      for (const other of document.querySelectorAll('[data-sort]')) {
        other.parentNode.setAttribute('aria-sort', other !== b ? 'none' : order.down ? 'descending' : 'ascending');
      }
      redraw();
    });
  }
  $('node-filter').addEventListener('input', () => { order.shown = MORE; redraw(); });
  $('node-more').addEventListener('click', () => { order.shown += MORE; redraw(); });
}

function nodeRow(r) {
  const use = h('td', { class: 'bars wide' }, bar([], 0, ''));
  return h('tr', {}, h('th', { scope: 'row' }, link(r.name)), h('td', { class: 'num' }), use, h('td', { class: 'num' }),
    h('td', { class: 'num wide' }), h('td', { class: 'num' }), h('td'));
}

const stateOf = (r) => (!r.ready ? 'not ready' : r.cordoned ? 'cordoned' : r.fresh ? 'ready' : 'not reported');

function updateNodeRow(row, r) {
  const p = (v) => percent(v, r.cap);
  cells(row, [null, r.fresh ? `${p(r.used)}%` : '–', null, r.fresh ? `${percent(r.memUsed, r.memCap)}%` : '–',
    r.batchAlloc ? `${cores(r.batch)} of ${cores(r.batchAlloc)}` : '–', count(r.pods), null]);
  updateBar(row.children[2].firstChild, r.fresh ? USERS.map(([n]) => [n, r[n]]) : [], r.cap,
    r.fresh ? `prod ${p(r.prod)}%, mid ${p(r.mid)}%, batch ${p(r.batch)}%, system ${p(r.system)}%` : 'not reported');
  const state = stateOf(r);
  if (row.lastElementChild.textContent !== state) {
    row.lastElementChild.replaceChildren(tag(state, state === 'not ready' ? 'bad' : state === 'ready' ? '' : 'warn'));
  }
}

export function showNodes(rows) {
  const word = $('node-filter').value.trim().toLowerCase();
  const key = keys[order.by];
  const list = word ? rows.filter((r) => r.name.includes(word)) : rows;
  keyed($('node-rows'), first(list, order.shown, order.down ? (r) => -key(r) : key), (r) => r.name, nodeRow, updateNodeRow);
  const n = Math.min(order.shown, list.length);
  setText($('node-total'), list.length ? `${count(n)} of ${count(list.length)} nodes${word ? ` with “${word}” in their name` : ''}.` : 'No nodes.');
  $('node-more').hidden = n >= list.length;
}

// ---- one node

let node = null; // elements of the node that is shown

function card(title, ...children) {
  return h('div', { class: 'card' }, h('h2', {}, title), children);
}

const named = (text) => h('p', { class: 'bar-name' }, text);
const over = (text) => h('h2', { class: 'over' }, text);

export function openNode(name) {
  setText($('h-node'), name);
  setText($('node-state'), 'Loading');
  node = { name, use: h('dl'), qos: h('dl'), batch: h('dl'), slo: h('div', { class: 'slos' }) };
  node.podsNote = h('p', { class: 'empty' });
  node.eventsNote = h('p', { class: 'empty' });
  node.cpu = bar([], 0, '');
  node.mem = bar([], 0, '');
  node.batchBar = bar([], 0, '');
  node.pods = table(`Pods of ${name}`, [['Pod'], ['Class', 'wide'], ['QoS'], ['CPU', 'num'], ['of request', 'num wide'], ['Memory', 'num'],
    ['of request', 'num wide'], ['Phase', 'wide']]);
  node.pods.card.classList.add('pods');
  node.events = table(`Events of ${name}`, [['When'], ['Type'], ['Reason'], ['Text'], ['Times', 'num'], ['From', 'wide']]);
  $('node-body').replaceChildren(
    h('div', { class: 'cols' }, card('Use', named('CPU'), node.cpu, named('Memory'), node.mem, node.use),
      h('div', { class: 'stack' }, card('Use by QoS class', node.qos), card('Batch capacity', named('CPU'), node.batchBar, node.batch))),
    over('Pods'), node.podsNote, node.pods.card, over('Events'), node.eventsNote, node.events.card, card('NodeSLO in force', node.slo));
  $('node-body').hidden = true;
}

function pairs(dl, list) {
  const flat = list.flat();
  if (dl.children.length !== flat.length) dl.replaceChildren(...flat.map((text, i) => h(i % 2 ? 'dd' : 'dt', {}, text)));
  flat.forEach((text, i) => setText(dl.children[i], text));
}

function showUse(n) {
  const by = (i) => [['prod', n.prod[i]], ['mid', n.mid[i]], ['batch', n.batchUsed[i]], ['system', n.system[i]]];
  const words = (i) => by(i).map(([k, v]) => `${k} ${percent(v, n.capacity[i])}%`).join(', ');
  updateBar(node.cpu, by(0), n.capacity[0], `CPU: ${words(0)}`);
  updateBar(node.mem, by(1), n.capacity[1], `Memory: ${words(1)}`);
  const row = (name, a) => [name, `${cores(a[0])} cores, ${memory(a[1])}`];
  pairs(node.use, [row('Used', n.used), row('Prod', n.prod), row('Mid', n.mid), row('Batch', n.batchUsed), row('System', n.system),
    row('Requested', n.requested), row('Allocatable', n.allocatable), row('Capacity', n.capacity)]);
  pairs(node.qos, n.qos.length ? n.qos.map((q) => row(q.name, q.used)) : [['Pods', 'no use reported']]);
  updateBar(node.batchBar, [['batch', n.batchUsed[0]]], n.batchAllocatable[0], `Batch CPU: ${cores(n.batchUsed[0])} used of ${cores(n.batchAllocatable[0])}`);
  pairs(node.batch, [row('Used', n.batchUsed), row('Requested', n.batchRequested), row('Allocatable', n.batchAllocatable)]);
}

/** Leaves of an object as "a.b" and text. */
function leaves(value, path = '') {
  if (value === null || typeof value !== 'object') return [[path, String(value)]];
  return Object.entries(value).flatMap(([k, v]) => leaves(v, path ? `${path}.${k}` : k));
}

function missing(p) {
  const what = p.group ? `${p.resource}.${p.group}` : p.resource;
  return h('p', { class: 'empty' }, `${what} cannot be read: ${p.problem}`);
}

const SLO = { resourceUsedThresholdWithBE: 'Suppression and eviction of BE pods', resourceQOSStrategy: 'QoS by class', cpuBurstStrategy: 'CPU burst',
  systemStrategy: 'System', hostApplications: 'Host applications', extensions: 'Extensions' };

function showSlo(n) {
  const text = JSON.stringify([n.slo, n.sloProblem, n.listing]);
  if (node.sloText === text) return;
  node.sloText = text;
  if (n.sloProblem) node.slo.replaceChildren(missing(n.sloProblem));
  else if (!n.slo) node.slo.replaceChildren(h('p', { class: 'empty' }, n.listing ? 'Loading' : 'This node has no NodeSLO.'));
  else {
    const parts = Object.entries(n.slo).map(([k, v]) => [SLO[k] || k, leaves(v)]).filter(([, l]) => l.length);
    node.slo.replaceChildren(...parts.map(([title, list]) => h('div', { class: 'slo' }, h('h3', {}, title),
      h('dl', {}, list.flatMap(([name, value]) => [h('dt', {}, name), h('dd', {}, value)])))));
  }
}

function podRow(p) {
  return h('tr', {}, h('th', { scope: 'row' }, `${p.ns}/${p.name}`), h('td', { class: 'wide' }), h('td'), h('td', { class: 'num' }), h('td', { class: 'num wide' }),
    h('td', { class: 'num' }), h('td', { class: 'num wide' }), h('td', { class: 'wide' }));
}

function updatePodRow(row, p) {
  const asked = p.batch[0] || p.batch[1] ? p.batch : p.requested;
  const of = (i) => (p.measured && asked[i] ? `${percent(p.used[i], asked[i])}%` : '–');
  cells(row, [null, p.class || '–', p.qos || '–', p.measured ? cores(p.used[0]) : '–', of(0), p.measured ? memory(p.used[1]) : '–', of(1), p.phase]);
}

function eventRow(e) {
  return h('tr', {}, h('td'), h('td', {}, tag(e.type || '–', e.type === 'Warning' ? 'warn' : '')), h('td'), h('td', { class: 'text' }), h('td', { class: 'num' }),
    h('td', { class: 'wide' }));
}

export function showNode(n, now) {
  if (!node || node.name !== n.name) return;
  $('node-body').hidden = !n.found;
  if (!n.found) {
    setText($('node-state'), 'The cluster has no node of this name.');
    return;
  }
  const reported = n.reported ? `last reported ${age(n.reported, now)} ago` : 'never reported';
  const state = `${n.ready ? 'Ready' : 'Not ready'}${n.unschedulable ? ', cordoned' : ''}`;
  setText($('node-state'), `${state}; ${reported}${n.fresh ? '' : ', so its use is not known'}; ${pods(n.podCount)}.`);
  showUse(n);
  showSlo(n);
  keyed(node.pods.body, n.pods, (p) => `${p.ns}/${p.name}`, podRow, updatePodRow);
  node.pods.card.hidden = !n.pods.length;
  setText(node.podsNote, n.pods.length ? (n.pods.length < n.podCount ? `The ${count(n.pods.length)} that use most.` : '') : 'No pods.');
  keyed(node.events.body, n.events, (e) => `${e.at} ${e.reason} ${e.text}`, eventRow,
    (row, e) => cells(row, [clock(e.at), null, e.reason, e.text, count(e.count), e.from]));
  node.events.card.hidden = !n.events.length;
  setText(node.eventsNote, n.eventsProblem ? `Events cannot be read: ${n.eventsProblem.problem}` : n.events.length ? '' : n.listing ? 'Loading' : 'No events.');
}

// ---- pods that wait

let pending = null;
const WHY = { NotYetTried: 'No scheduler has tried it yet', SchedulingGated: 'Held by a scheduling gate' };
const why = (p) => p.text || WHY[p.reason] || p.reason;

function pendingNote(data) {
  if (!data.total) return 'No pod waits for a node.';
  if (data.pods.length < data.total) return `${count(data.total)} pods wait; the ${count(data.pods.length)} oldest are listed.`;
  return `${pods(data.total)} ${data.total === 1 ? 'waits' : 'wait'} for a node.`;
}

export function showPending(data, now) {
  if (!pending) {
    pending = { note: h('p', { class: 'note' }) };
    const t = table('Reasons', [['Pods', 'num'], ['Share', 'wide'], ['Reason', 'wide'], ['Text']]);
    pending.reasons = t.body;
    const p = table('Pods that wait for a node', [['Pod'], ['Since', 'num'], ['Priority', 'num wide'], ['QoS', 'wide'], ['Requests', 'wide'], ['Why']]);
    pending.pods = p.body;
    p.card.classList.add('pods');
    $('pending-body').replaceChildren(pending.note, over('Reasons'), t.card, over('Pods'), p.card);
  }
  $('pending-body').hidden = false;
  for (const e of $('pending-body').children) e.hidden = e !== pending.note && !data.total;
  setText(pending.note, pendingNote(data));
  keyed(pending.reasons, data.reasons, (r) => `${r.reason} ${r.text}`,
    () => h('tr', {}, h('td', { class: 'num' }), h('td', { class: 'bars wide' }, bar([], 0, '')), h('td', { class: 'wide' }), h('td', { class: 'text' })),
    (row, r) => {
      cells(row, [count(r.count), null, r.reason, why(r)]);
      updateBar(row.children[1].firstChild, [['count', r.count]], data.total, `${percent(r.count, data.total)}% of the pods that wait`);
    });
  keyed(pending.pods, data.pods, (p) => `${p.ns}/${p.name}`,
    (p) => h('tr', {}, h('th', { scope: 'row' }, `${p.ns}/${p.name}`), h('td', { class: 'num' }), h('td', { class: 'num wide' }), h('td', { class: 'wide' }),
      h('td', { class: 'asked wide' }), h('td', { class: 'text' })),
    (row, p) => cells(row, [null, age(p.since, now), String(p.priority), p.qos || '–',
      `${cores(p.requested[0])} ${p.isBatch ? 'batch ' : ''}cores, ${memory(p.requested[1])}`, why(p)]));
}

// ---- Reservations and migrations

let moves = null;
const amounts = (r) => Object.entries(r || {}).map(([k, v]) => `${k} ${v}`).join(', ') || '–';
const phaseTag = (p) => tag(p, p === 'Failed' || p === 'Aborted' ? 'bad' : p === 'Pending' ? 'warn' : '');

function setPhase(cell, phase) {
  if (cell.textContent !== phase) cell.replaceChildren(phaseTag(phase));
}

function setNodeLink(cell, name) {
  if (cell.textContent !== (name || '–')) cell.replaceChildren(name ? link(name) : '–');
}

export function showMoves(data, now) {
  if (!moves) {
    const r = table('Reservations', [['Reservation'], ['Phase'], ['Node'], ['Reserved'], ['Of it in use'], ['Owners', 'num'], ['Age', 'num']]);
    const m = table('Migrations', [['Migration'], ['Phase'], ['Pod'], ['To node'], ['Mode', 'wide'], ['Reason'], ['Text'], ['Age', 'num']]);
    moves = { r, m, rNote: h('p', { class: 'empty' }), mNote: h('p', { class: 'empty' }) };
    $('moves-body').replaceChildren(over('Reservations'), moves.rNote, r.card, over('Migrations'), moves.mNote, m.card);
  }
  for (const [key, t, note, word] of [['reservations', moves.r, moves.rNote, 'reservations'], ['migrations', moves.m, moves.mNote, 'migrations']]) {
    const d = data[key];
    t.card.hidden = !d.items.length;
    setText(note, d.items.length ? (d.items.length < d.total ? `The ${count(d.items.length)} youngest of ${count(d.total)}.` : '') : `There are no ${word}.`);
  }
  const cellsOf = (n, nums) => Array.from({ length: n }, (_, i) => h('td', { class: nums.includes(i) ? 'num' : undefined }));
  keyed(moves.r.body, data.reservations.items, (i) => i.name, (i) => h('tr', {}, h('th', { scope: 'row' }, i.name), cellsOf(6, [4, 5])), (row, i) => {
    cells(row, [null, null, null, amounts(i.allocatable), amounts(i.allocated), count(i.owners), age(i.since, now)]);
    setPhase(row.children[1], i.phase);
    setNodeLink(row.children[2], i.node);
  });
  keyed(moves.m.body, data.migrations.items, (i) => i.name, (i) => h('tr', {}, h('th', { scope: 'row' }, i.name), cellsOf(7, [6])), (row, i) => {
    row.children[4].className = 'wide';
    cells(row, [null, null, i.pod ? `${i.ns}/${i.pod}` : '–', null, i.mode || '–', i.reason || '–', i.text || '–', age(i.since, now)]);
    setPhase(row.children[1], i.phase);
    setNodeLink(row.children[3], i.node);
  });
}

export function leaveNode() {
  if (node) {
    forget(node.pods.body);
    forget(node.events.body);
  }
  node = null;
}
