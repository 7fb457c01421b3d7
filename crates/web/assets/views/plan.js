// A session before it is run: what would be done, by whom, in which waves.
import { Command, Said, State, go, html, useEffect, useState, useTitle } from '../ui.js';
import { get } from '../api.js';
import { useAll } from './inbox.js';
import { List } from '../list.js';
import { length } from '../format.js';

export function Plan({ session }) {
  const [plan, set] = useState(null);
  const [error, fail] = useState(null);
  useTitle(`Plan · ${session}`);
  // A session that is run now is shown as its run.
  const begun = useAll()?.list?.runs.find((run) => run.session === session && run.newest && run.state === 'running')?.run;
  useEffect(() => { if (begun) go(`/r/${encodeURIComponent(begun)}`, { replace: true }); }, [begun]);
  useEffect(() => { get(`/api/plan?session=${encodeURIComponent(session)}`, { keep: false }).then(set, fail); }, [session]);
  if (error) return html`<main id="main"><h1>This session cannot be planned</h1><p class="wrong" role="alert"><${Said} text=${error.message} /></p></main>`;
  if (!plan) return html`<main id="main"><p class="muted">Reading …</p></main>`;
  const { tasks } = plan;
  return html`<main id="main">
    <h1><${Said} text=${session} /></h1>
    ${plan.goal && html`<p class="goal"><${Said} text=${plan.goal} /></p>`}
    <${Findings} findings=${plan.findings} />
    ${plan.summary && html`<p>${plan.summary}</p><p><${Command} text=${plan.commands.run} /> <${Command} text=${plan.commands.rehearse} /></p>
      ${plan.estimate && html`<p>About ${length(plan.estimate.time_ms.likely)} (${length(plan.estimate.time_ms.low)} to ${length(plan.estimate.time_ms.high)}), from ${plan.estimate.samples} attempts${plan.estimate.guessed_tasks ? `; ${plan.estimate.guessed_tasks} tasks are guessed from other roles` : ''}.</p>`}
      <section aria-labelledby="who"><h2 id="who">Who does it</h2><ul class="plain">${plan.agents.map((line) => html`<li key=${line}><${Said} text=${line} /></li>`)}</ul>
        ${plan.budgets.length > 0 && html`<h3>Budgets</h3><ul class="plain">${plan.budgets.map((line) => html`<li key=${line}><${Said} text=${line} /></li>`)}</ul>`}</section>
      <section aria-labelledby="waves"><h2 id="waves">Waves <span class="count">${plan.waves.length}</span></h2>
        <ol class="waves">${plan.waves.slice(0, 60).map((n, nth) => html`<li key=${nth}>${n}</li>`)}${plan.waves.length > 60 && html`<li>and ${plan.waves.length - 60} more</li>`}</ol></section>
      <section aria-labelledby="critical"><h2 id="critical">Longest chain <span class="count">${plan.critical_path.length}</span></h2>
        <p><${Said} text=${plan.critical_path.slice(0, 30).join(' → ')} />${plan.critical_path.length > 30 ? ' …' : ''}</p></section>
      <section aria-labelledby="tasks"><h2 id="tasks">Tasks <span class="count">${tasks.ids.length}</span></h2>
        <${List} count=${tasks.ids.length} height=${34} label="Tasks" name="table short" columns=${5} row=${(at) => html`<div role="row" class="trow" key=${at} data-row tabindex="-1" aria-rowindex=${at + 1}>
          <span role="cell" class="c-id"><${Said} text=${tasks.ids[at]} /></span><span role="cell" class="c-title clip"><${Said} text=${tasks.titles[at]} /></span>
          <span role="cell" class="c-status"><${State} status=${tasks.statuses[tasks.status[at]]} /></span><span role="cell" class="c-role clip"><${Said} text=${tasks.roles[tasks.role[at]]} /></span><span role="cell" class="c-wave">${tasks.wave[at]}</span></div>`} /></section>`}
  </main>`;
}

function Findings({ findings }) {
  if (!findings?.length) return null;
  return html`<section aria-labelledby="findings"><h2 id="findings">Findings <span class="count">${findings.length}</span></h2>
    <ul class="cards">${findings.slice(0, 100).map((one, nth) => html`<li class=${`card ${one.severity === 'error' ? 'failed' : 'slow'}`} key=${nth}><strong>${one.severity}</strong> <${Said} text=${one.message} />
      ${one.file && html` <span class="muted small"><${Said} text=${`${one.file}${one.line ? `:${one.line}:${one.column}` : ''}`} /></span>`}</li>`)}</ul></section>`;
}
