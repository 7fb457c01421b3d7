// What a person must do, and what is wrong: the same list as `status` shows, with a button for each thing that can be sent.
import { Act, Command, Link, Said, html, say, taskHref, useState, useTick } from './ui.js';
import { ask } from './api.js';
import { ago, length } from './format.js';

const WORDS = {
  permission: 'Permission', checkpoint: 'Checkpoint', wave_failed: 'Wave failed', proposal: 'Proposed task', login: 'Login',
  budget: 'Budget', paused: 'Paused', stopped: 'Stopped', failed: 'Failed', skipped: 'Skipped', out_of_rounds: 'Out of rounds',
  artifact: 'Artifact', silent: 'Silent', retrying: 'Retrying', quota: 'Quota', host_lost: 'Host lost', slow: 'Slow', disk: 'Disk',
};

export const kindWord = (kind) => WORDS[kind] ?? kind;

/** A need or a problem. */
export function Card({ item, run, canAct, at, done }) {
  useTick(item.until || item.since ? 1000 : 60_000);
  const left = item.until ? Date.parse(item.until) - Date.now() : 0;
  const [first] = item.actions;
  return html`<li class=${`card ${item.kind}`} data-row tabindex="-1">
    <div class="line">
      <span class="kind">${kindWord(item.kind)}</span>
      ${item.task && html`<${Link} class="task" href=${taskHref(run, item.task)}><${Said} text=${item.task} /></${Link}>`}
      ${at}
      ${item.since && html`<span class="muted small" title=${item.since}>${ago(item.since)}</span>`}
      ${left > 0 && html`<span class="muted small">over in ${length(left)}</span>`}
    </div>
    <p class="why"><${Said} text=${item.why} /></p>
    ${canAct && html`<${Buttons} actions=${item.actions.filter((one) => one.request && one.to !== 'start')} run=${run} task=${item.task} done=${done} />`}
    ${first && html`<${Command} text=${first.command} />`}
  </li>`;
}

/** What can be sent, each as a button; where a person adds words, they are asked for once a button is chosen. */
function Buttons({ actions, run, task, done }) {
  const [open, set] = useState(null);
  const [words, write] = useState('');
  if (!actions.length) return null;
  const send = async (action, text) => {
    const request = { ...action.request };
    if (action.text && text) request[action.text.field] = text;
    const told = await ask(run, action.to, request);
    set(null);
    write('');
    say((told.did ?? []).join('; ') || 'done');
    done?.();
  };
  const label = (action) => `${action.label}${task ? ` ${task}` : ''}`;
  if (open) {
    return html`<form class="ask" onSubmit=${(event) => { event.preventDefault(); event.currentTarget.querySelector('button.main')?.click(); }}>
      <label>${open.text.required ? 'In your words' : 'In your words, if you like'}
        <textarea rows="2" value=${words} onInput=${(event) => write(event.currentTarget.value)}></textarea></label>
      <div class="buttons">
        <${Act} kind="main" disabled=${open.text.required && !words.trim()} act=${() => send(open, words.trim())}>${open.label}</${Act}>
        <button type="button" onClick=${() => set(null)}>Cancel</button>
      </div>
    </form>`;
  }
  return html`<div class="buttons">${actions.map((action, nth) => (action.text
    ? html`<button type="button" key=${action.label} class=${nth ? '' : 'main'} aria-label=${`${label(action)} …`} onClick=${() => set(action)}>${action.label}…</button>`
    : html`<${Act} key=${action.label} kind=${nth ? '' : 'main'} aria-label=${label(action)} act=${() => send(action)}>${action.label}</${Act}>`))}</div>`;
}

/** A list of needs or problems. A card stays the same while its words change: a person may be writing in it. */
export function Cards({ items, ...rest }) {
  const times = new Map();
  const key = ({ kind, task, since, do: command }) => {
    const one = [kind, task, since, command].join(' ');
    times.set(one, (times.get(one) ?? 0) + 1);
    return `${one} ${times.get(one)}`;
  };
  return html`<ul class="cards">${items.map((item) => html`<${Card} key=${key(item)} item=${item} ...${rest} />`)}</ul>`;
}
