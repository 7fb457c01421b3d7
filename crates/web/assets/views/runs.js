// All runs of the project: first those that wait for a person, then those with trouble, then those that go on.
import { Counts, Link, Said, State, html, useTitle } from '../ui.js';
import { useAll } from './inbox.js';
import { ago, dollars, length, moment, tokens } from '../format.js';

const rank = (run) => (run.newest && run.attention?.needs.length ? 0 : run.state === 'running' ? (run.attention?.problems.length ? 1 : 2) : 3);

export function Runs() {
  const all = useAll();
  useTitle(`${all?.needs ? `(${all.needs}) ` : ''}Runs · team-executor`);
  const list = all?.list;
  const runs = [...(list?.runs ?? [])].sort((a, b) => rank(a) - rank(b) || b.began - a.began);
  return html`<main id="main">
    <h1>Runs</h1>
    ${list ? html`<p class="muted small"><${Said} text=${list.project} /></p>` : html`<p class="muted">Reading …</p>`}
    ${all?.error && html`<p class="wrong" role="alert"><${Said} text=${all.error.message} /></p>`}
    ${runs.length > 0 && html`<div class="scroll" role="region" aria-label="Runs" tabindex="0"><table class="runs">
      <thead><tr><th scope="col">Run</th><th scope="col">State</th><th scope="col">Tasks</th><th scope="col">Needs you</th>
        <th scope="col">Problems</th><th scope="col">Used</th><th scope="col">Began</th><th scope="col">At work</th></tr></thead>
      <tbody>${runs.map((run) => html`<${Row} key=${run.run} run=${run} />`)}</tbody>
    </table></div>`}
    ${list?.more ? html`<p class="muted">${list.more} older runs are not listed; <code>team-executor runs --all</code> lists all.</p>` : ''}
    ${list && !runs.length && html`<p>No session of this project was run yet.</p>`}
    ${list?.sessions.length > 0 && html`<h2>Sessions that were never run</h2>
      <ul class="plain">${list.sessions.map((one) => html`<li key=${one.path} data-row tabindex="-1">
        <${Link} href=${`/plan?session=${encodeURIComponent(one.path)}`}><${Said} text=${one.path} /></${Link}>
        <span class="muted small"> ${one.tasks ? `${one.tasks} tasks` : ''}${one.errors ? `, ${one.errors} errors` : ''}</span></li>`)}</ul>`}
  </main>`;
}

function Row({ run }) {
  const { attention, used } = run;
  const needs = run.newest ? attention?.needs.length ?? 0 : 0;
  return html`<tr data-row tabindex="-1">
    <th scope="row"><${Link} href=${`/r/${encodeURIComponent(run.run)}`}><${Said} text=${run.run} /></${Link}
      ><div class="muted small clip"><${Said} text=${run.goal || run.session} /></div></th>
    <td><${State} status=${run.state} />${run.reason && html`<div class="muted small"><${Said} text=${run.reason} /></div>`}
      ${run.error && html`<div class="wrong small"><${Said} text=${run.error} /></div>`}</td>
    <td><${Counts} counts=${run.counts} words=${false} /><span class="small muted">${run.counts ? `${run.counts.completed}/${run.counts.total}` : ''}</span></td>
    <td>${needs ? html`<span class="count hot">${needs}</span>` : html`<span class="muted">none</span>`}</td>
    <td>${attention?.problems.length ? html`<span class="count">${attention.problems.length}</span>` : html`<span class="muted">none</span>`}</td>
    <td class="small">${[tokens(used?.tokens), dollars(used?.cost_usd, used?.estimated)].filter(Boolean).join(', ')}</td>
    <td class="small" title=${moment(run.began)}>${ago(run.began)}</td>
    <td class="small">${run.active_ms == null ? '' : length(run.active_ms)}</td>
  </tr>`;
}
