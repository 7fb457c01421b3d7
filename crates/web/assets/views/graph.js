// The graph: places come from the program, which lays out the plan; what changes in a run only changes classes here.
import { Link, Said, go, html, taskHref, useEffect, useMemo, useRef, useState } from '../ui.js';
import { useDocument, useRun } from '../store.js';
import { STATUS, visible } from '../format.js';

const MARGIN = 24;

export function Graph({ run, place }) {
  const { tasks } = useRun(run.name, { tasks: true });
  const focus = place.searchParams.get('focus');
  const query = focus ? `?focus=${encodeURIComponent(focus)}&up=${place.searchParams.get('up') ?? 2}&down=${place.searchParams.get('down') ?? 2}&limit=200` : '';
  const { value, error } = useDocument(`${run.path}/graph${query}`, tasks?.ids.length ?? 0);
  const [graph, keep] = useState(null);
  useEffect(() => { if (value) keep(value); }, [value]);
  const [zoom, setZoom] = useState(0);
  const [text, write] = useState('');
  const box = useRef(null);
  const base = `/r/${encodeURIComponent(run.name)}`;
  const members = useMemo(() => cards(graph), [graph]);
  if (error && !graph) return html`<p class="wrong" role="alert"><${Said} text=${error.message} /></p>`;
  if (!graph || !tasks) return html`<p class="muted">Reading …</p>`;
  const fit = Math.min(1, Math.max(0.25, ((box.current?.clientWidth ?? 900) - 2 * MARGIN) / (graph.width + 2 * MARGIN)));
  const scale = zoom || fit;
  const look = (event) => {
    event.preventDefault();
    const wanted = text.toLowerCase();
    const at = tasks.ids.findIndex((id, nth) => id.toLowerCase() === wanted || id.toLowerCase().includes(wanted) || tasks.titles[nth].toLowerCase().includes(wanted));
    if (at >= 0) go(`${base}/graph?focus=${encodeURIComponent(tasks.ids[at])}`);
  };
  return html`<section class="graph" aria-label="Graph">
    <form class="filters" onSubmit=${look}>
      <label>Go to a task <input type="search" data-search value=${text} onInput=${(event) => write(event.currentTarget.value)} /></label>
      <button type="submit" disabled=${!text}>Show around it</button>
      ${focus && html`<${Link} href=${`${base}/graph`}>The whole graph</${Link}>`}
      <span class="grow"></span>
      <button type="button" aria-label="Smaller" onClick=${() => setZoom(Math.max(0.2, scale / 1.25))}>−</button>
      <button type="button" aria-label="Larger" onClick=${() => setZoom(Math.min(2, scale * 1.25))}>+</button>
      <button type="button" onClick=${() => setZoom(0)}>Fit</button>
    </form>
    ${graph.notes.map((note) => html`<p class="muted small" key=${note}>${note}</p>`)}
    ${graph.left_out > 0 && html`<p class="muted small">${graph.left_out} links lead further; choose a task to go there.</p>`}
    <p class="muted small">The purple path is the longest chain of what is left. <${Link} href=${`${base}/tasks`}>The same as a table</${Link}></p>
    <div class="canvas" ref=${box} tabindex="0" role="region" aria-label="Graph of the tasks">
      <${Drawing} graph=${graph} tasks=${tasks} members=${members} scale=${scale} run=${run} focus=${focus} />
    </div>
  </section>`;
}

/** The tasks of each card. */
function cards(graph) {
  const members = graph ? graph.cards.map(() => []) : [];
  graph?.tasks.forEach((task, nth) => members[graph.card_of[nth]].push(task));
  return members;
}

function Drawing({ graph, tasks, members, scale, run, focus }) {
  const [width, height] = [graph.width + 2 * MARGIN, graph.height + 2 * MARGIN + 28];
  return html`<svg width=${width * scale} height=${height * scale} viewBox=${`0 0 ${width} ${height}`} role="group" aria-label=${`${graph.tasks.length} tasks`}>
    <defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0l8 4l-8 4z" /></marker></defs>
    <g transform=${`translate(${MARGIN} ${MARGIN + 28})`}>
      ${graph.columns.map(([x, name]) => html`<text key=${name} x=${x} y="-14" class="column">${visible(name)}</text>`)}
      <${Curves} graph=${graph} />
      ${graph.cards.map((card, nth) => html`<${Card} key=${nth} card=${card} graph=${graph} tasks=${tasks} members=${members[nth]} run=${run} focus=${focus} />`)}
    </g></svg>`;
}

function Curves({ graph }) {
  return useMemo(() => html`<g aria-hidden="true">${graph.curves.map(([x1, y1, x2, y2, weight, arrow, critical], nth) => {
    const bend = (x2 - x1) / 2;
    return html`<path key=${nth} class=${critical ? 'edge critical' : 'edge'} marker-end=${arrow ? 'url(#tip)' : undefined}
      stroke-width=${Math.min(1.4 + Math.log2(weight), 8)} d=${`M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2 - (arrow ? 2 : 0)} ${y2}`} />`;
  })}</g>`, [graph]);
}

function Card({ card, graph, tasks, members, run, focus }) {
  const [width, height] = graph.card;
  const counts = {};
  for (const task of members) {
    const { name } = STATUS[tasks.statuses[tasks.status[task]]];
    counts[name] = (counts[name] ?? 0) + 1;
  }
  const told = Object.entries(counts).map(([name, n]) => `${n} ${name}`).join(', ');
  const only = graph.groups ? null : members[0];
  const id = only == null ? null : tasks.ids[only];
  const status = only == null ? urgent(counts) : STATUS[tasks.statuses[tasks.status[only]]].name;
  // A group leads to its tasks as a table; a task to itself.
  const base = `/r/${encodeURIComponent(run.name)}`;
  const href = id == null ? `${base}/tasks?role=${encodeURIComponent(card.role)}&wave=${tasks.wave[members[0]]}` : taskHref(run.name, id);
  return html`<g transform=${`translate(${card.x} ${card.y})`} class=${`node ${status} ${card.critical ? 'critical' : ''} ${id != null && id === focus ? 'focus' : ''}`}>
    <${Link} href=${href} data-row>
      <rect width=${width} height=${height} rx="9" class="box" /><rect x="5" y="9" width="4" height=${height - 18} rx="2" class="stripe" />
      <text x="17" y="24" class="heading">${`${visible(card.heading)} `}</text>
      ${id == null ? html`<text x="17" y="42" class="line">${`${visible(told)} `}</text>` : card.lines.map((line, nth) => html`<text key=${nth} x="17" y=${42 + 16 * nth} class="line">${`${visible(line)} `}</text>`)}
      <text x="17" y=${height - 12} class="role">${`${visible(clipped(card.role))} `}</text>
      ${id != null && html`<text x=${width - 12} y=${height - 12} text-anchor="end" class="word">${STATUS[status].mark} ${STATUS[status].word}</text>`}
    </${Link}></g>`;
}

const clipped = (role) => (role.length > 16 ? `${role.slice(0, 15)}…` : role);

const urgent = (counts) => ['failed', 'running', 'ready', 'waiting', 'completed', 'skipped'].find((name) => counts[name]) ?? 'waiting';
