// Where the time went: a bar for each attempt, in parts for waiting, working and checking. It is drawn on a canvas; the table
// of tasks says the same in words.
import { Command, Link, Said, html, taskHref, go, useEffect, useMemo, useRef, useState } from '../ui.js';
import { get } from '../api.js';
import { useRun } from '../store.js';
import { length, number, visible } from '../format.js';

const ROW = 22;
const HEAD = 26;
const STRIP = 34;
const NAMES = 150;
/** Attempts are read again at most so often while the run goes on. */
const EVERY = 2000;

export function Timeline({ run }) {
  const { tasks } = useRun(run.name, { tasks: true });
  const [data, set] = useState(null);
  const [error, setError] = useState(null);
  const [lanes, setLanes] = useState(false);
  const going = run.doc?.executor && !run.doc.finished;
  useEffect(() => {
    let isOpen = true, timer = 0;
    const read = async () => {
      const began = Date.now();
      try { const value = await get(`${run.path}/attempts`, { keep: false }); if (isOpen) { set({ ...value, read: Date.now() }); setError(null); } }
      catch (error) { if (isOpen) setError(error); }
      // A large run is read less often.
      if (isOpen && going) timer = setTimeout(read, Math.max(EVERY, 10 * (Date.now() - began)));
    };
    read();
    return () => { isOpen = false; clearTimeout(timer); };
  }, [run.path, going, run.doc?.counts.completed === run.doc?.counts.total]);
  const layout = useMemo(() => (data && tasks ? arrange(data, lanes) : null), [data, tasks, lanes]);
  if (error && !data) return html`<p class="wrong" role="alert"><${Said} text=${error.message} /></p>`;
  if (!layout) return html`<p class="muted">Reading …</p>`;
  return html`<section class="timeline" aria-label="Timeline">
    <div class="filters">
      <label>Rows <select value=${lanes ? 'slots' : 'tasks'} onChange=${(event) => setLanes(event.currentTarget.value === 'slots')}><option value="tasks">tasks by start</option><option value="slots">slots of workers</option></select></label>
      <span class="legend small"><span class="key waiting"></span> ready, waits for a worker <span class="key running"></span> at work <span class="key checking"></span> checked <span class="key failed"></span> failed <span class="key back"></span> sent back <span class="key chain"></span> the chain that made it so long${data.future.length > 0 && html` <span class="key future"></span> expected`}</span>
      <span class="grow"></span><${Link} href=${`/r/${encodeURIComponent(run.name)}/tasks?sort=-ran_ms`}>The same as a table</${Link}>
    </div>
    ${layout.count ? html`<${Chart} run=${run} tasks=${tasks} data=${data} layout=${layout} going=${going} />` : html`<p class="muted">No task was tried yet.</p>`}
    <p class="muted small">To look at it in Perfetto: <${Command} text=${run.doc.commands.trace} /></p>
  </section>`;
}

/** Which row each attempt is in: one for each task by its first start, or one for each slot. */
function arrange(data, lanes) {
  const rowOf = new Int32Array(data.task.length);
  const names = [];
  if (lanes) {
    const known = new Map();
    [...new Set(data.slot)].sort((a, b) => a - b).forEach((slot, nth) => { known.set(slot, nth); names.push(`slot ${slot + 1}`); });
    data.slot.forEach((slot, at) => { rowOf[at] = known.get(slot); });
  } else {
    const order = Array.from(data.task.keys()).sort((a, b) => data.started[a] - data.started[b]);
    const known = new Map();
    for (const at of order) {
      if (!known.has(data.task[at])) { known.set(data.task[at], known.size); names.push(data.task[at]); }
      rowOf[at] = known.get(data.task[at]);
    }
  }
  // What is expected stands in the row of its task, or in one below all others.
  const expected = new Map();
  if (!lanes) {
    const known = new Map(names.map((task, row) => [task, row]));
    for (const [task, from, to] of data.future) {
      if (!known.has(task)) { known.set(task, names.length); names.push(task); }
      expected.set(known.get(task), [data.now + from, data.now + to]);
    }
  }
  const byRow = names.map(() => []);
  rowOf.forEach((row, at) => byRow[row].push(at));
  byRow.forEach((row) => row.sort((a, b) => data.started[a] - data.started[b]));
  let end = 1;
  for (let at = 0; at < data.task.length; at += 1) end = Math.max(end, over(data, at));
  for (const [, to] of expected.values()) end = Math.max(end, to);
  return { byRow, expected, names, count: names.length, end, lanes, back: new Set(data.sent_back), chain: new Set(data.chain) };
}

/** When an attempt was over; what goes on lasts until now. */
const over = (data, at) => Math.max(data.checked[at], data.ended[at], data.started[at], data.outcome[at] < 0 ? data.now : 0);

function Chart({ run, tasks, data, layout, going }) {
  const box = useRef(null), canvas = useRef(null), strip = useRef(null);
  const view = useRef({ from: 0, to: 1, top: 0 });
  const [hover, setHover] = useState(null);
  const [chosen, choose] = useState(-1);
  const [room, setRoom] = useState({ width: 800, height: 500 });
  const now = () => (going ? data.now + (Date.now() - data.read) : layout.end);
  const end = () => Math.max(layout.end, going ? now() : 0);

  useEffect(() => {
    const measure = () => { if (box.current) setRoom({ width: box.current.clientWidth, height: box.current.clientHeight }); };
    const observer = new ResizeObserver(measure);
    observer.observe(box.current);
    measure();
    return () => observer.disconnect();
  }, []);

  const frame = useRef(0), colour = useRef(null);
  const draw = () => {
    cancelAnimationFrame(frame.current);
    frame.current = requestAnimationFrame(() => {
      if (!canvas.current) return;
      const colours = (colour.current ??= palette());
      paint(canvas.current, room, view.current, { data, layout, tasks, end: end(), now: now(), chosen, going, colours });
      overview(strip.current, room.width, view.current, { data, layout, end: end(), colours });
    });
  };
  useEffect(draw);
  useEffect(() => {
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    const change = () => { colour.current = null; draw(); };
    scheme.addEventListener('change', change);
    return () => scheme.removeEventListener('change', change);
  });
  useEffect(() => {
    if (!going || matchMedia('(prefers-reduced-motion: reduce)').matches) return undefined;
    const timer = setInterval(() => { if (!document.hidden) draw(); }, 1000);
    return () => clearInterval(timer);
  });

  const most = Math.max(0, layout.count * ROW + HEAD - room.height);
  const scroll = (to) => { view.current.top = Math.max(0, Math.min(most, to)); draw(); };
  const zoom = (by, at = 0.5) => {
    const { from, to } = view.current;
    const span = Math.min(1, Math.max(1e-6, (to - from) * by));
    const middle = from + (to - from) * at;
    const begin = Math.max(0, Math.min(1 - span, middle - span * at));
    Object.assign(view.current, { from: begin, to: begin + span });
    draw();
  };
  const pan = (by) => {
    const span = view.current.to - view.current.from;
    const begin = Math.max(0, Math.min(1 - span, view.current.from + by * span));
    Object.assign(view.current, { from: begin, to: begin + span });
    draw();
  };
  const wheel = (event) => {
    event.preventDefault();
    const at = (event.offsetX - NAMES) / (room.width - NAMES);
    if (event.ctrlKey || event.metaKey) zoom(event.deltaY > 0 ? 1.2 : 1 / 1.2, Math.max(0, Math.min(1, at)));
    else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) pan((event.deltaX || event.deltaY) / 800);
    else scroll(view.current.top + event.deltaY);
  };
  useEffect(() => {
    const there = canvas.current;
    there.addEventListener('wheel', wheel, { passive: false });
    return () => there.removeEventListener('wheel', wheel);
  });
  const rowAt = (y) => Math.floor((y - HEAD + view.current.top) / ROW);
  const find = (x, y) => {
    const row = rowAt(y);
    if (y < HEAD || row < 0 || row >= layout.count) return -1;
    const { from, to } = view.current;
    const t = (from + ((x - NAMES) / (room.width - NAMES)) * (to - from)) * end();
    const slack = ((to - from) * end() * 3) / room.width;
    return layout.byRow[row].find((at) => t >= begin(data, at) - slack && t <= over(data, at) + slack) ?? (layout.lanes ? -1 : firstOf(row));
  };
  /** The first attempt of a row; where a task was never tried, its row as a number below -1. */
  const firstOf = (row) => layout.byRow[row][0] ?? -2 - row;
  const open = (at) => {
    if (at >= 0) go(taskHref(run.name, tasks.ids[data.task[at]], 'attempts'));
    else if (at < -1) go(taskHref(run.name, tasks.ids[layout.names[-2 - at]]));
  };
  const key = (event) => {
    const rows = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (rows) {
      event.preventDefault();
      const next = Math.max(0, Math.min(layout.count - 1, chosen + rows));
      choose(next);
      const y = next * ROW;
      if (y < view.current.top) scroll(y);
      else if (y + ROW + HEAD > view.current.top + room.height) scroll(y + ROW + HEAD - room.height);
      setHover(firstOf(next));
    } else if (event.key === 'PageDown') { event.preventDefault(); scroll(view.current.top + room.height); }
    else if (event.key === 'PageUp') { event.preventDefault(); scroll(view.current.top - room.height); }
    else if (event.key === '+') zoom(1 / 1.5);
    else if (event.key === '-') zoom(1.5);
    else if (event.key === 'ArrowRight') pan(0.2);
    else if (event.key === 'ArrowLeft') pan(-0.2);
    else if (event.key === 'Enter' && chosen >= 0) open(firstOf(chosen));
  };
  const drag = (event) => {
    if (event.buttons !== 1) return;
    const at = event.offsetX / room.width;
    const span = Math.min(view.current.to - view.current.from, 0.999);
    const begin = Math.max(0, Math.min(1 - span, at - span / 2));
    Object.assign(view.current, { from: begin, to: begin + span });
    draw();
  };
  return html`<div class="chart">
    <div class="buttons"><button type="button" aria-label="Zoom in" onClick=${() => zoom(1 / 1.5)}>+</button><button type="button" aria-label="Zoom out" onClick=${() => zoom(1.5)}>−</button>
      <button type="button" onClick=${() => { Object.assign(view.current, { from: 0, to: 1 }); draw(); }}>All</button>
      <span class="small" role="status">${hover != null && hover !== -1 ? words(data, tasks, hover, layout) : `${number(data.task.length)} attempts in ${length(end())}`}</span></div>
    <canvas class="strip" ref=${strip} height=${STRIP} aria-hidden="true" onPointerDown=${drag} onPointerMove=${drag}></canvas>
    <div class="plot" ref=${box} tabindex="0" role="application" aria-label="Timeline: arrow keys move, plus and minus zoom, Enter opens a task" onKeyDown=${key}>
      <canvas ref=${canvas} aria-hidden="true"
        onPointerMove=${(event) => { const at = find(event.offsetX, event.offsetY); if (at !== hover) setHover(at); }}
        onClick=${(event) => open(find(event.offsetX, event.offsetY))}></canvas>
    </div>
  </div>`;
}

const begin = (data, at) => (data.ready[at] >= 0 ? Math.min(data.ready[at], data.started[at]) : data.started[at]);

function words(data, tasks, at, layout) {
  if (at < -1) {
    const [from, to] = layout.expected.get(-2 - at) ?? [data.now, data.now];
    return visible(`${tasks.ids[layout.names[-2 - at]]}: expected to start in ${length(from - data.now)}, and to take ${length(to - from)}`);
  }
  const id = tasks.ids[data.task[at]];
  const wait = data.ready[at] >= 0 ? `, waited ${length(data.started[at] - data.ready[at])}` : '';
  const outcome = data.outcome[at] < 0 ? 'goes on' : data.outcomes[data.outcome[at]];
  return visible(`${id}, attempt ${data.attempt[at]}: ${outcome}${layout.back.has(at) ? ', sent back' : ''}${layout.chain.has(at) ? ', on the longest chain' : ''}${wait}, took ${length(over(data, at) - data.started[at])}`);
}

/** The colours of the page, as a canvas wants them: what they are now, light or dark. */
function palette() {
  const names = ['text', 'muted', 'line', 'ground', 'waiting', 'running', 'checking', 'failed', 'back', 'accent', 'skipped', 'critical'];
  const probe = document.createElement('i');
  document.body.append(probe);
  const found = {};
  for (const name of names) {
    probe.style.color = `var(--c-${name})`;
    found[name] = getComputedStyle(probe).color;
  }
  probe.remove();
  return found;
}

function sized(canvas, width, height) {
  const ratio = devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const paper = canvas.getContext('2d');
  paper.setTransform(ratio, 0, 0, ratio, 0, 0);
  return paper;
}

/** Draws the rows that are seen, and nothing else. */
function paint(canvas, { width, height }, view, { data, layout, tasks, end, now, chosen, going, colours }) {
  const paper = sized(canvas, width, height);
  paper.clearRect(0, 0, width, height);
  paper.font = '12px system-ui, sans-serif';
  paper.textBaseline = 'middle';
  const room = width - NAMES;
  const x = (t) => NAMES + ((t / end - view.from) / (view.to - view.from)) * room;
  const first = Math.max(0, Math.floor(view.top / ROW));
  const last = Math.min(layout.count, Math.ceil((view.top + height - HEAD) / ROW));
  ruler(paper, { width, height, view, end, x, colours });
  for (let row = first; row < last; row += 1) {
    const y = HEAD + row * ROW - view.top;
    if (row === chosen) { paper.fillStyle = colours.line; paper.fillRect(0, y, width, ROW); }
    paper.save();
    paper.beginPath();
    paper.rect(NAMES, HEAD, room, height);
    paper.clip();
    if (layout.expected.has(row)) expectation(paper, { times: layout.expected.get(row), x, y, now, colours, right: width });
    for (const at of layout.byRow[row]) bar(paper, { data, layout, at, x, y, now, colours, right: width });
    paper.restore();
    paper.fillStyle = colours.text;
    const name = layout.lanes ? layout.names[row] : visible(tasks.ids[layout.names[row]]);
    paper.fillText(name.length > 20 ? `${name.slice(0, 19)}…` : name, 4, y + ROW / 2);
  }
  paper.fillStyle = colours.ground;
  paper.fillRect(0, 0, width, HEAD);
  ruler(paper, { width, height: HEAD, view, end, x, colours, withWords: true });
  if (going) { paper.fillStyle = colours.accent; paper.fillRect(x(now), HEAD, 1, height); }
}

function bar(paper, { data, layout, at, x, y, now, colours, right }) {
  const ready = begin(data, at), started = data.started[at];
  const stop = data.outcome[at] < 0 ? now : over(data, at);
  const worked = data.ended[at] >= 0 ? data.ended[at] : stop;
  const [a, b, c, d] = [x(ready), x(started), x(worked), x(stop)];
  if (d < NAMES || a > right) return;
  const part = (from, to, colour, inset) => {
    if (to - from <= 0) return;
    paper.fillStyle = colour;
    paper.fillRect(from, y + inset, Math.max(to - from, 0.7), ROW - 2 * inset);
  };
  part(a, b, colours.waiting, 8);
  const isFailed = data.outcome[at] === 1;
  part(b, Math.max(c, b + 1.5), isFailed ? colours.failed : data.outcome[at] === 2 ? colours.skipped : colours.running, 4);
  part(c, d, colours.checking, 6);
  if (layout.chain.has(at)) {
    paper.fillStyle = colours.critical;
    paper.fillRect(b, y + ROW - 4, Math.max(d - b, 1.5), 2.5);
  }
  if (layout.back.has(at)) {
    paper.strokeStyle = colours.back;
    paper.lineWidth = 1.5;
    for (let at = b; at < Math.min(d, right); at += 6) {
      paper.beginPath();
      paper.moveTo(at, y + ROW - 4);
      paper.lineTo(at + 5, y + 4);
      paper.stroke();
    }
  }
}

/** When a task will probably be at work: hatched, behind now. */
function expectation(paper, { times: [from, to], x, y, now, colours, right }) {
  const [a, b] = [Math.max(NAMES, x(Math.max(from, now))), Math.min(right, x(to))];
  if (b - a < 1) return;
  paper.strokeStyle = colours.waiting;
  paper.lineWidth = 1;
  paper.strokeRect(a + 0.5, y + 5.5, b - a - 1, ROW - 11);
  paper.beginPath();
  for (let at = a + 4; at < b; at += 6) {
    paper.moveTo(Math.max(a, at - 4), y + ROW - 6);
    paper.lineTo(at, y + 6);
  }
  paper.stroke();
}

const STEPS = [10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000, 900_000, 1_800_000, 3_600_000, 7_200_000, 14_400_000, 43_200_000, 86_400_000];

function ruler(paper, { width, height, view, end, x, colours, withWords = false }) {
  const span = (view.to - view.from) * end;
  const step = STEPS.find((one) => span / one <= Math.max(2, (width - NAMES) / 90)) ?? STEPS.at(-1);
  paper.fillStyle = withWords ? colours.muted : colours.line;
  for (let t = Math.ceil((view.from * end) / step) * step; t <= view.to * end; t += step) {
    if (withWords) paper.fillText(step < 1000 ? `${(t / 1000).toFixed(step < 100 ? 2 : 1)}s` : length(t), Math.min(x(t) + 3, width - 40), HEAD / 2);
    else paper.fillRect(x(t), HEAD, 1, height);
  }
}

/** How many workers were at work at each moment, a column for each pixel. */
function overview(canvas, width, view, { data, layout, end, colours }) {
  const paper = sized(canvas, width, STRIP);
  paper.clearRect(0, 0, width, STRIP);
  const columns = Math.max(1, Math.floor(width));
  const delta = new Float64Array(columns + 2);
  for (let at = 0; at < data.task.length; at += 1) {
    const from = Math.max(0, Math.min(columns, Math.floor((data.started[at] / end) * columns)));
    const to = Math.max(from + 1, Math.min(columns + 1, Math.ceil((over(data, at) / end) * columns)));
    delta[from] += 1;
    delta[to] -= 1;
  }
  let n = 0, most = 1;
  const busy = new Float64Array(columns);
  for (let at = 0; at < columns; at += 1) { n += delta[at]; busy[at] = n; most = Math.max(most, n); }
  paper.fillStyle = colours.running;
  for (let at = 0; at < columns; at += 1) { const high = (busy[at] / most) * (STRIP - 4); paper.fillRect(at, STRIP - high, 1, high); }
  paper.strokeStyle = colours.accent;
  paper.lineWidth = 2;
  paper.strokeRect(view.from * width + 1, 1, Math.max(3, (view.to - view.from) * width - 2), STRIP - 2);
}
