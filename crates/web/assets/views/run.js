// One run: how it stands, what needs a person, what is wrong, what runs, what comes next.
import { Act, Command, Counts, Link, Said, State, go, html, say, taskHref, useTick, useTitle } from '../ui.js';
import { control } from '../api.js';
import { useRun } from '../store.js';
import { Cards } from '../attention.js';
import { dollars, length, tokens } from '../format.js';
import { Tasks } from './tasks.js';
import { Task } from './task.js';
import { Graph } from './graph.js';
import { Timeline } from './timeline.js';

const VIEWS = [['', 'Overview'], ['tasks', 'Tasks'], ['graph', 'Graph'], ['timeline', 'Timeline']];
/** The view behind the drawer of a task. */
let behind = '';

export function Run({ name, rest, place, connected }) {
  const run = useRun(name);
  const [view, task] = rest[0] === 't' ? [behind, rest[1]] : [rest[0] ?? '', undefined];
  if (rest[0] !== 't') behind = view;
  const { doc } = run;
  const needs = doc?.attention.needs.length ?? 0;
  useTitle(`${needs ? `(${needs}) ` : ''}${task ?? (VIEWS.find(([one]) => one === view)?.[1] ?? '')} · ${name}`);
  if (!doc) {
    return html`<main id="main">${run.error ? html`<h1>This run cannot be shown</h1><p class="wrong" role="alert"><${Said} text=${run.error.message} /></p>${run.error.help && html`<p><${Said} text=${run.error.help} /></p>`}` : html`<p class="muted">Reading …</p>`}</main>`;
  }
  const base = `/r/${encodeURIComponent(name)}`;
  const close = () => go(history.state?.from?.startsWith(base) && !history.state.from.includes('/t/') ? history.state.from : `${base}${behind ? `/${behind}` : ''}`);
  return html`<div class=${task ? 'split open' : 'split'}>
    <main id="main">
      <${Header} run=${run} connected=${connected} />
      <nav class="views" aria-label="Views of this run">${VIEWS.map(([one, words]) => html`<${Link} key=${one} href=${one ? `${base}/${one}` : base} aria-current=${view === one ? 'page' : undefined}>${words}</${Link}>`)}</nav>
      ${view === 'tasks' ? html`<${Tasks} run=${run} place=${place} chosen=${task} />`
        : view === 'graph' ? html`<${Graph} run=${run} place=${place} />`
        : view === 'timeline' ? html`<${Timeline} run=${run} />`
        : html`<${Overview} run=${run} />`}
    </main>
    ${task && html`<${Task} key=${task} run=${run} id=${task} place=${place} close=${close} />`}
  </div>`;
}

/** What a run is about, in a word. */
function word(doc) {
  if (doc.finished) return ['finished', 'finished'];
  if (!doc.executor) return ['interrupted', 'no executor has this run'];
  if (doc.stage === 'paused') return ['paused', 'paused'];
  return ['running', doc.stage === 'going on' ? 'running' : doc.stage];
}

function Header({ run, connected }) {
  const { doc, name } = run;
  const [status, words] = word(doc);
  const isGoing = doc.executor && !doc.finished;
  useTick(isGoing ? 1000 : 60_000);
  const atWork = doc.active_ms + (isGoing && doc.running.length ? Date.now() - run.at : 0);
  const send = (request, told) => async () => { await control(name, request); say(told); run.soon(); };
  const { attention: { needs, problems } } = doc;
  return html`<header class="run">
    <div class="line"><h1><${Said} text=${name} /></h1> <${State} status=${status} />
      ${status !== words && html`<strong class=${status === 'interrupted' ? 'wrong' : ''} role="status">${words}</strong>`}
      ${!connected && html`<strong class="wrong" role="status">The page has lost its server; it tries again.</strong>`}
      <span class="grow"></span>
      ${doc.can_act && isGoing && html`<span class="buttons">
        ${doc.stage === 'paused' ? html`<${Act} kind="main" act=${send({ request: 'resume' }, 'It goes on')}>Resume</${Act}>`
          : html`<${Act} act=${send({ request: 'pause', reason: 'paused on the page' }, 'No new workers start')}>Pause</${Act}>`}
        <${Act} act=${send({ request: 'drain' }, 'It stops when its workers have ended')}>Stop</${Act}>
        <${Act} kind="danger" act=${send({ request: 'stop' }, 'Its workers are ended')}>Stop now</${Act}>
      </span>`}
    </div>
    <p class="goal"><${Said} text=${doc.goal} /></p>
    <${Counts} counts=${doc.counts} />
    <dl class="facts">
      <div><dt>Completed</dt><dd>${doc.counts.completed} of ${doc.counts.total}</dd></div>
      <div><dt>At work</dt><dd>${length(atWork)}</dd></div>
      ${doc.left_ms != null && html`<div><dt>About left</dt><dd>${soon(doc.left_ms - (Date.now() - run.at))}</dd></div>`}
      <div><dt>Workers</dt><dd>${doc.running.length}${doc.most_workers ? ` of ${doc.most_workers}` : ''}</dd></div>
      ${doc.used.tokens > 0 && html`<div><dt>Used</dt><dd>${[tokens(doc.used.tokens), dollars(doc.used.cost_usd, doc.used.estimated)].filter(Boolean).join(', ')}</dd></div>`}
      ${doc.rounds > 0 && html`<div><dt>Sent back</dt><dd>${doc.rounds}</dd></div>`}
      ${doc.budgets.map((one) => html`<${Budget} key=${one.measure} budget=${one} />`)}
    </dl>
    ${doc.reason && html`<p class="muted"><${Said} text=${doc.reason} /></p>`}
    ${status === 'interrupted' && html`<p>It can go on where it was: <${Command} text=${doc.commands.resume} /></p>`}
    ${!doc.is_newest && html`<p class="muted">This is not the newest run of its session: it can be looked at, and not steered.</p>`}
    <p class="sr" aria-live="polite">${needs.length} need you, ${problems.length} problems</p>
  </header>`;
}

const soon = (ms) => (ms < 1000 ? 'less than 1s' : length(ms));

const MEASURES = { usd: dollars, tokens: (n) => tokens(n) || '0 tokens', turns: (n) => `${n} turns`, wall: length };

/** How much of a budget is used, as a bar and in words. */
function Budget({ budget: { measure, used, most } }) {
  const words = `${MEASURES[measure](used) || '$0'} of ${MEASURES[measure](most)}`;
  return html`<div><dt>Budget</dt><dd>${words}<meter min="0" max=${most} high=${0.9 * most} value=${used} aria-label=${`Budget: ${words}`}></meter></dd></div>`;
}

function Overview({ run }) {
  const { doc, name } = run;
  const { needs, problems } = doc.attention;
  const done = () => run.soon();
  return html`
    <section aria-labelledby="needs"><h2 id="needs">Needs you <span class=${needs.length ? 'count hot' : 'count'}>${needs.length}</span></h2>
      ${needs.length ? html`<${Cards} items=${needs} run=${name} canAct=${doc.can_act} done=${done} />` : html`<p class="muted">Nothing waits for you.</p>`}</section>
    ${problems.length > 0 && html`<section aria-labelledby="problems"><h2 id="problems">Problems <span class="count">${problems.length}</span></h2>
      <${Cards} items=${problems} run=${name} canAct=${doc.can_act} done=${done} /></section>`}
    <section aria-labelledby="running"><h2 id="running">Running <span class="count">${doc.running.length}</span></h2>
      ${doc.running.length ? html`<${Running} run=${run} />` : html`<p class="muted">No worker is at work.</p>`}</section>
    <section aria-labelledby="next"><h2 id="next">Next <span class="count">${doc.next_total}</span></h2>
      ${doc.next.length ? html`<ol class="plain next">${doc.next.map((one) => html`<li key=${one.task} data-row tabindex="-1">
        <${Link} href=${taskHref(name, one.task)}><${Said} text=${one.task} /></${Link}> <${Said} text=${one.title} />
        <span class="muted small"> <${Said} text=${one.role} />; ${one.why}</span></li>`)}</ol>
        ${doc.next_total > doc.next.length && html`<p class="muted small">and ${doc.next_total - doc.next.length} more</p>`}` : html`<p class="muted">No task can start now.</p>`}</section>
    <section aria-labelledby="done"><h2 id="done">Done <span class="count">${doc.counts.completed}</span></h2>
      <p><${Link} href=${`/r/${encodeURIComponent(name)}/tasks?status=completed`}>The tasks that are completed</${Link}></p></section>`;
}

function Running({ run }) {
  useTick(1000);
  const { doc, name } = run;
  const since = Date.now() - run.at;
  return html`<div class="scroll" role="region" aria-label="Running tasks" tabindex="0"><table class="running">
    <thead><tr><th scope="col">Task</th><th scope="col">Agent</th><th scope="col">Attempt</th><th scope="col">For</th><th scope="col">Silent</th><th scope="col">Used</th><th scope="col">Doing</th></tr></thead>
    <tbody>${doc.running.map((one) => html`<tr key=${one.task} data-row tabindex="-1">
      <th scope="row"><${Link} href=${taskHref(name, one.task, 'log')}><${Said} text=${one.task} /></${Link}><div class="muted small clip"><${Said} text=${one.title} /></div></th>
      <td><${Said} text=${one.agent ?? ''} /><div class="muted small"><${Said} text=${one.model ?? one.role} /></div></td>
      <td>${one.attempt}</td>
      <td>${length(one.seconds * 1000 + since)}</td>
      <td>${one.silent_s == null ? '' : length(run.lines.has(one.task) ? Math.min(one.silent_s * 1000, 1000) : one.silent_s * 1000 + since)}</td>
      <td class="small">${[tokens((one.tokens_in ?? 0) + (one.tokens_out ?? 0)), dollars(one.cost_usd, one.estimated)].filter(Boolean).join(', ')}</td>
      <td class="small clip last"><${Said} text=${run.lines.get(one.task) ?? one.doing ?? ''} /></td>
    </tr>`)}</tbody></table></div>`;
}
