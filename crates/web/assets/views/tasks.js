// All tasks as a table. Filters are in the address, so that it can be kept and sent.
import { Link, Said, State, go, html, taskHref, useMemo, useRef, useState } from '../ui.js';
import { useRun } from '../store.js';
import { List } from '../list.js';
import { STATUS, WORDS, length, number } from '../format.js';

const COLUMNS = [['id', 'Task'], ['title', 'Title'], ['status', 'Status'], ['role', 'Role'], ['wave', 'Wave'], ['attempts', 'Attempts'], ['ran_ms', 'Time']];
const ROW = 34;

export function Tasks({ run, place, chosen }) {
  const { tasks } = useRun(run.name, { tasks: true });
  const wanted = chosen ? kept.get(run.name) ?? new URLSearchParams() : place.searchParams;
  if (!chosen) kept.set(run.name, wanted);
  const [text, write] = useState(wanted.get('text') ?? '');
  const timer = useRef(0);
  const set = (name, value) => {
    const next = new URLSearchParams(wanted);
    if (value) next.set(name, value); else next.delete(name);
    const query = next.toString();
    go(`/r/${encodeURIComponent(run.name)}/tasks${query ? `?${query}` : ''}`, { replace: true });
  };
  const shown = useMemo(() => (tasks ? select(tasks, wanted) : []), [tasks, wanted.toString(), run.version]);
  if (!tasks) return html`<p class="muted">${run.error ? html`<${Said} text=${run.error.message} />` : 'Reading …'}</p>`;
  const sort = wanted.get('sort') ?? '';
  const head = html`<div role="row" class="trow thead">${COLUMNS.map(([name, words]) => html`<span role="columnheader" key=${name} class=${`c-${name}`}
      aria-sort=${sort === name ? 'ascending' : sort === `-${name}` ? 'descending' : 'none'}>
      <button type="button" class="quiet" onClick=${() => set('sort', sort === name ? `-${name}` : sort === `-${name}` ? '' : name)}>${words}${sort === name ? ' ▲' : sort === `-${name}` ? ' ▼' : ''}</button></span>`)}</div>`;
  const row = (nth) => {
    const at = shown[nth];
    const id = tasks.ids[at];
    return html`<div role="row" class=${id === chosen ? 'trow chosen' : 'trow'} key=${id} data-row tabindex="-1" aria-rowindex=${nth + 2}>
      <span role="cell" class="c-id"><${Link} href=${taskHref(run.name, id)}><${Said} text=${id} /></${Link}></span>
      <span role="cell" class="c-title clip"><${Said} text=${tasks.titles[at]} /></span>
      <span role="cell" class="c-status"><${State} status=${tasks.statuses[tasks.status[at]]} /></span>
      <span role="cell" class="c-role clip"><${Said} text=${tasks.roles[tasks.role[at]]} /></span>
      <span role="cell" class="c-wave">${tasks.wave[at]}</span>
      <span role="cell" class="c-attempts">${tasks.attempts[at] || ''}</span>
      <span role="cell" class="c-ran_ms">${tasks.ran_ms[at] ? length(tasks.ran_ms[at]) : ''}</span>
    </div>`;
  };
  const search = (event) => {
    const { value } = event.currentTarget;
    write(value);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => set('text', value), 150);
  };
  return html`<section class="tasks" aria-label="Tasks">
    <form class="filters" onSubmit=${(event) => event.preventDefault()}>
      <label>Search <input type="search" data-search value=${text} onInput=${search} /></label>
      <label>Status <select value=${wanted.get('status') ?? ''} onChange=${(event) => set('status', event.currentTarget.value)}>
        <option value="">any</option>${WORDS.map((word) => html`<option key=${word} value=${word}>${STATUS[word].word}</option>`)}</select></label>
      <label>Role <select value=${wanted.get('role') ?? ''} onChange=${(event) => set('role', event.currentTarget.value)}>
        <option value="">any</option>${tasks.roles.slice(0, 500).map((role) => html`<option key=${role} value=${role}>${role}</option>`)}</select></label>
      <label>Wave <input type="number" min="1" value=${wanted.get('wave') ?? ''} onInput=${(event) => set('wave', event.currentTarget.value)} /></label>
      <span class="muted small" role="status">${number(shown.length)} of ${number(tasks.ids.length)}</span>
    </form>
    <${List} count=${shown.length} height=${ROW} row=${row} head=${head} label="Tasks" name="table" columns=${COLUMNS.length} />
  </section>`;
}

const kept = new Map();

/** The positions of the tasks that are wanted, in the order that is wanted. */
function select(tasks, wanted) {
  const status = WORDS.indexOf(wanted.get('status') ?? '');
  const role = wanted.has('role') ? tasks.roles.indexOf(wanted.get('role')) : -1;
  const wave = Number(wanted.get('wave') ?? 0);
  const text = (wanted.get('text') ?? '').toLowerCase();
  const found = [];
  for (let at = 0; at < tasks.ids.length; at += 1) {
    if (status >= 0 && tasks.status[at] !== status) continue;
    if (wanted.has('role') && tasks.role[at] !== role) continue;
    if (wave && tasks.wave[at] !== wave) continue;
    if (text && !tasks.ids[at].toLowerCase().includes(text) && !tasks.titles[at].toLowerCase().includes(text)) continue;
    found.push(at);
  }
  const sort = wanted.get('sort');
  if (!sort) return found;
  const name = sort.replace('-', '');
  const column = { id: tasks.ids, title: tasks.titles, wave: tasks.wave, attempts: tasks.attempts, ran_ms: tasks.ran_ms, status: tasks.status }[name];
  const value = name === 'role' ? (at) => tasks.roles[tasks.role[at]] : (at) => column?.[at] ?? 0;
  const sign = sort.startsWith('-') ? -1 : 1;
  return found.sort((a, b) => {
    const [x, y] = [value(a), value(b)];
    return sign * (x < y ? -1 : x > y ? 1 : a - b);
  });
}
