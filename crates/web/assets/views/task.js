// One task, beside the view that is open: why it stands where it does, its log, what it was told and what came of it.
import { Act, Link, Said, State, Tabs, askFor, go, html, say, taskHref, useEffect, useRef, useState, useTick } from '../ui.js';
import { ask, control, save, text as readText } from '../api.js';
import { useDocument } from '../store.js';
import { Log } from './log.js';
import { dollars, length, moment, size, tokens } from '../format.js';

const TABS = [['why', 'Why'], ['log', 'Log'], ['prompt', 'Prompt'], ['result', 'Result'], ['changes', 'Changes'], ['artifacts', 'Artifacts'], ['messages', 'Messages'], ['attempts', 'Attempts']];
/** What is known of the task is read again at most so often. */
const EVERY = 1000;

export function Task({ run, id, place, close }) {
  const tab = TABS.some(([name]) => name === place.searchParams.get('tab')) ? place.searchParams.get('tab') : 'why';
  const [version, set] = useState(0);
  const last = useRef(0);
  useEffect(() => {
    const wait = Math.max(0, EVERY - (Date.now() - last.current));
    const timer = setTimeout(() => { last.current = Date.now(); set((n) => n + 1); }, wait);
    return () => clearTimeout(timer);
  }, [run.doc]);
  const path = `${run.path}/tasks/${encodeURIComponent(id)}`;
  const { value: fresh, error } = useDocument(path, version);
  const [task, keep] = useState(null);
  useEffect(() => { if (fresh) keep(fresh); }, [fresh]);
  const heading = useRef(null);
  useEffect(() => { heading.current?.focus({ preventScroll: true }); }, [id]);
  return html`<aside class="drawer" aria-label=${`Task ${id}`}>
    <div class="line"><h2 tabindex="-1" ref=${heading}><${Said} text=${id} /></h2>
      ${task && html`<${State} status=${task.status} />`}<span class="grow"></span>
      <button type="button" class="quiet" data-close aria-label="Close the task" onClick=${close}>✕</button></div>
    ${error && !task && html`<p class="wrong" role="alert"><${Said} text=${error.message} /></p>`}
    ${task && html`
      <p class="goal"><${Said} text=${task.title} /></p>
      <p class="muted small"><${Said} text=${task.role} /> · wave ${task.wave} · priority ${task.priority}${task.attempt ? ` · attempt ${task.attempt}` : ''}</p>
      ${run.doc?.can_act && html`<${Buttons} run=${run} task=${task} />`}
      <${Tabs} tabs=${TABS} chosen=${tab} label="About this task" choose=${(name) => go(taskHref(run.name, id, name), { replace: true })} />
      <div role="tabpanel" class="panel" aria-labelledby=${`tab-${tab}`} tabindex="0">
        ${tab === 'why' ? html`<${Why} run=${run} task=${task} path=${path} version=${version} />`
          : tab === 'log' ? html`<${Log} path=${path} task=${task} run=${run} />`
          : tab === 'prompt' ? html`<${Prompt} path=${path} />`
          : tab === 'result' ? html`<${Result} task=${task} />`
          : tab === 'changes' ? html`<${Changes} path=${path} status=${task.status} />`
          : tab === 'artifacts' ? html`<${Artifacts} run=${run} id=${id} version=${version} />`
          : tab === 'messages' ? html`<${Messages} task=${task} />`
          : html`<${Attempts} task=${task} />`}
      </div>`}
  </aside>`;
}

/** What can be asked for, by where the task stands. */
function Buttons({ run, task }) {
  const { status, task: id, talk } = task;
  const send = (request, words) => async () => {
    const told = await control(run.name, request);
    say((told.did ?? []).join('; ') || words);
    run.soon();
  };
  const tell = (request) => async () => {
    const told = await ask(run.name, 'talk', { task: id, ...request });
    say(told.did.join('; '));
  };
  const isOver = ['completed', 'failed', 'skipped'].includes(status);
  const all = [];
  // What builds on a completed task is done again with it.
  if (isOver && status !== 'completed') {
    all.push(['Retry…', () => askFor({ title: `Retry ${id}`, words: 'What the worker is told (it may stay empty)', label: 'Retry',
      send: (feedback) => send({ request: 'retry', tasks: [id], downstream: false, feedback }, 'It is done again')() })]);
  }
  if (isOver) {
    all.push(['Retry with all behind it…', () => askFor({ title: `Retry ${id} and all that builds on it`, words: 'What the worker is told (it may stay empty)', label: 'Retry all',
      send: (feedback) => send({ request: 'retry', tasks: [id], downstream: true, feedback }, 'They are done again')() })]);
  }
  if (status === 'in_progress') {
    all.push(['Restart…', () => askFor({ title: `End the worker of ${id} and start another`, words: 'What the next worker is told (it may stay empty)', label: 'Restart',
      send: (feedback) => send({ request: 'cancel', task: id, then: 'retry', reason: 'restarted on the page', feedback }, 'It begins anew')() })]);
    all.push(['Cancel…', () => askFor({ title: `End the worker of ${id}; the task fails`, words: 'Why', label: 'Cancel the task', danger: true,
      send: (reason) => send({ request: 'cancel', task: id, then: 'fail', reason: reason || 'cancelled on the page', feedback: '' }, 'Its worker is ended')() })]);
  }
  if (!isOver && status !== 'in_progress') {
    all.push(['Skip…', () => askFor({ title: `Skip ${id}: it does not run`, words: 'Why', label: 'Skip', danger: true,
      send: (reason) => send({ request: 'skip', task: id, reason: reason || 'skipped on the page' }, 'It is skipped')() })]);
  }
  if (talk) {
    all.push(['Say…', () => askFor({ title: `Say something to the agent of ${id}`, words: 'In your words', label: 'Say', required: true, send: (text) => tell({ text })() })]);
    for (const one of talk.questions) {
      all.push([`Allow ${one.tool}`, tell({ answer: { question: one.question, allow: true } }), one.what]);
      all.push([`Deny ${one.tool}`, tell({ answer: { question: one.question, allow: false } }), one.what]);
    }
    if (talk.busy) all.push(['Interrupt', tell({ interrupt: {} })]);
    all.push(['Close the conversation', tell({ close: {} })]);
  }
  return html`<div class="buttons">
    ${all.map(([words, act, about]) => (words.endsWith('…')
      ? html`<button type="button" key=${words} onClick=${act}>${words}</button>`
      : html`<${Act} key=${words} act=${act} title=${about}>${words}</${Act}>`))}
  </div>`;
}

const Text = ({ text }) => html`<pre class="text" tabindex="0"><${Said} text=${text} /></pre>`;

function Around({ run, title, tasks, total }) {
  if (!tasks.length) return null;
  return html`<h3>${title}</h3><ul class="plain">${tasks.map((one) => html`<li key=${one.task} data-row tabindex="-1">
    <${Link} href=${taskHref(run.name, one.task)}><${Said} text=${one.task} /></${Link}> <${State} status=${one.status} /></li>`)}
    ${total > tasks.length && html`<li class="muted">and ${total - tasks.length} more</li>`}</ul>`;
}

function Why({ run, task, path, version }) {
  const { value } = useDocument(`${path}/history`, run.doc?.counts ? version : 0);
  const [history, keep] = useState(null);
  useEffect(() => { if (value) keep(value.events); }, [value]);
  const open = task.needs.filter((one) => one.status !== 'completed');
  const told = {
    pending: open.length ? `It waits for ${open.map((one) => one.task).join(', ')}.` : 'It waits for its turn.',
    ready: 'All that it builds on is there; it starts as soon as a worker is free.',
    in_progress: task.doing ? `Its worker: ${task.doing}` : 'A worker is at it.',
    completed: 'It is completed.',
    failed: 'It failed.',
    skipped: 'It does not run.',
  }[task.status];
  return html`<p><${Said} text=${told} /></p>
    ${task.why && html`<${Text} text=${task.why} />`}
    ${task.wait_s && html`<p>It is tried again in ${length(task.wait_s * 1000)}.</p>`}
    ${task.rounds > 0 && html`<p>It was sent back ${task.rounds} times.</p>`}
    ${task.description && html`<h3>The work</h3><${Text} text=${task.description} />`}
    <${Around} run=${run} title="Builds on" tasks=${task.needs} total=${task.needs_total} />
    <${Around} run=${run} title="Is built on by" tasks=${task.for} total=${task.for_total} />
    ${history?.length > 0 && html`<h3>What happened</h3><ol class="plain history">${history.map((one) => html`<li key=${`${one.seq} ${one.part ?? 0}`}>
      <time class="muted small" datetime=${one.at}>${moment(one.at)}</time> ${one.type.replace('task_', '').replaceAll('_', ' ')}
      ${(one.error ?? one.reason ?? one.critique ?? one.text) && html` <${Said} class="small" text=${one.error ?? one.reason ?? one.critique ?? one.text} />`}</li>`)}</ol>`}`;
}

function Prompt({ path }) {
  const [text, set] = useState(null);
  useEffect(() => {
    const control = new AbortController();
    readText(`${path}/prompt`, { signal: control.signal }).then(set, (error) => { if (error.name !== 'AbortError') set(error.message); });
    return () => control.abort();
  }, [path]);
  return html`<p class="muted small">As the run stands now; after an attempt began, nothing that it builds on changes.</p>${text == null ? html`<p class="muted">Reading …</p>` : html`<${Text} text=${text} />`}`;
}

function Result({ task }) {
  const { result } = task;
  if (!result?.findings && !result?.error && !task.verdict) return html`<p class="muted">There is no result yet.</p>`;
  return html`${task.verdict && html`<p>Verdict: <strong>${task.verdict}</strong></p>`}
    ${result.quality_score != null && html`<p>Score: ${result.quality_score}</p>`}
    ${result.findings && html`<h3>Findings</h3><${Text} text=${result.findings} />`}
    ${result.error && html`<h3>Error</h3><${Text} text=${result.error} />`}
    ${result.discovery && html`<h3>Discoveries</h3><${Text} text=${[...result.discovery.key_findings ?? [], ...result.discovery.decisions ?? []].join('\n')} />`}`;
}

/** What the task changed in its tree, if it has one of its own. */
function Changes({ path, status }) {
  const { value, error } = useDocument(`${path}/changes`, status);
  if (error) return html`<p class="muted"><${Said} text=${error.message} /></p>${error.help && html`<p class="muted small"><${Said} text=${error.help} /></p>`}`;
  if (!value) return html`<p class="muted">Reading …</p>`;
  return html`<p><${Said} text=${value.standing} /></p>
    <ul class="plain">${value.files.map((one) => html`<li key=${one.path}><${Said} text=${one.path} /> <span class="ok small">+${one.added}</span> <span class="wrong small">−${one.removed}</span></li>`)}</ul>
    <pre class="text patch" tabindex="0">${value.patch.split('\n').map((line, nth) => html`<span key=${nth} class=${line.startsWith('+') ? 'ok' : line.startsWith('-') ? 'wrong' : line.startsWith('@@') ? 'hunk' : ''}><${Said} text=${`${line}\n`} /></span>`)}</pre>
    ${value.cut && html`<p class="muted small">The rest is left out; <code>team-executor changes</code> shows all of it.</p>`}`;
}

function Artifacts({ run, id, version }) {
  const { value, error } = useDocument(`${run.path}/artifacts`, version);
  const [list, keep] = useState(null);
  const [shown, show] = useState(null);
  useEffect(() => { if (value) keep(value.artifacts.filter((one) => one.task === id)); }, [value, id]);
  if (error) return html`<p class="muted"><${Said} text=${error.message} /></p>`;
  if (!list?.length) return html`<p class="muted">${list ? 'It delivered no artifacts.' : 'Reading …'}</p>`;
  const path = (one) => `${run.path}/artifacts/${encodeURIComponent(one.id)}`;
  return html`<ul class="plain">${list.map((one) => html`<li key=${one.id} class="card">
    <div class="line"><strong><${Said} text=${one.path} /></strong> <span class=${one.state === 'passed' ? 'ok' : 'wrong'}>${one.state}</span> <span class="muted small">${size(one.size)}</span></div>
    ${one.summary && html`<p><${Said} text=${one.summary} /></p>`}
    ${one.checksum && html`<p class="muted small clip"><${Said} text=${one.checksum} /></p>`}
    <div class="buttons"><${Act} aria-label=${`Show ${one.path}`} act=${async () => show({ id: one.id, text: await readText(path(one)) })}>Show</${Act}>
      <${Act} aria-label=${`Save ${one.path}`} act=${() => save(path(one), one.path.split('/').pop())}>Save</${Act}></div>
    ${shown?.id === one.id && html`<${Text} text=${shown.text.slice(0, 500_000)} />`}</li>`)}</ul>`;
}

function Messages({ task }) {
  if (!task.messages?.length) return html`<p class="muted">Nothing was said about this task.</p>`;
  return html`<ol class="plain">${task.messages.map((one) => html`<li key=${one.id} class="card"><div class="muted small"><${Said} text=${one.from} /> → <${Said} text=${one.to || 'all'} /> · ${moment(one.ts)}</div><${Said} text=${one.summary} /></li>`)}</ol>`;
}

function Attempts({ task }) {
  useTick(task.status === 'in_progress' ? 1000 : 60_000);
  if (!task.attempts.length) return html`<p class="muted">It was not tried yet.</p>`;
  return html`<div class="scroll" role="region" aria-label="Attempts" tabindex="0"><table><thead><tr><th scope="col">Attempt</th><th scope="col">Outcome</th><th scope="col">Agent</th><th scope="col">Waited</th><th scope="col">Took</th><th scope="col">Used</th></tr></thead>
    <tbody>${task.attempts.map((one) => html`<tr key=${one.attempt}><th scope="row">${one.attempt}</th>
      <td><${State} status=${one.outcome ?? 'in_progress'} />${one.sent_back ? html` <span class="small">sent back</span>` : ''}${one.error && html`<div class="small"><${Said} text=${one.error} /></div>`}</td>
      <td><${Said} text=${one.agent} /><div class="muted small"><${Said} text=${one.model ?? ''} /></div></td>
      <td>${one.ready ? length(one.started - one.ready) : ''}</td>
      <td title=${moment(one.started)}>${length((one.checked ?? one.ended ?? Date.now()) - one.started)}</td>
      <td class="small">${[tokens(one.tokens), dollars(one.cost_usd)].filter(Boolean).join(', ')}</td></tr>`)}</tbody></table></div>
    ${task.attach && html`<p class="small">Its conversation can be opened: <code><${Said} text=${task.attach} /></code></p>`}`;
}
