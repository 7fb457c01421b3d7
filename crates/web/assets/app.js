// The page: which view is open, what is on top of it, and the keys.
import { Asking, Dialog, Link, Toasts, go, html, render, useEffect, usePlace, useState } from './ui.js';
import { enter, onConnection, onRefused } from './api.js';
import { Runs } from './views/runs.js';
import { Inbox, useAll } from './views/inbox.js';
import { Run } from './views/run.js';
import { Plan } from './views/plan.js';

const KEYS = [
  ['j, k', 'next and previous row'], ['Enter', 'open the row'], ['/', 'search'], ['g r', 'the run'], ['g t', 'its tasks'],
  ['g g', 'its graph'], ['g l', 'its timeline'], ['g i', 'what needs you'], ['g h', 'all runs'], ['Esc', 'close'], ['?', 'these keys'],
];

function App() {
  const place = usePlace();
  const [refused, refuse] = useState(false);
  const [isHelp, help] = useState(false);
  const [connected, connect] = useState(true);
  useEffect(() => { onRefused(() => refuse(true)); return onConnection(connect); }, []);
  useEffect(() => keys(help), []);
  const [, first, name, ...rest] = place.pathname.split('/').map((part) => decodeURIComponent(part));
  if (refused) return html`<${Entrance} />`;
  let view;
  if (first === 'r' && name) view = html`<${Run} key=${name} name=${name} rest=${rest} place=${place} connected=${connected} />`;
  else if (first === 'inbox') view = html`<${Inbox} />`;
  else if (first === 'plan') view = html`<${Plan} key=${place.search} session=${place.searchParams.get('session') ?? ''} />`;
  else view = html`<${Runs} />`;
  return html`
    <a class="skip" href="#main">Skip to the content</a>
    <${Head} help=${() => help(true)} at=${first} />
    ${view}
    <${Toasts} />
    <${Asking} />
    ${isHelp && html`<${Dialog} title="Keys" close=${() => help(false)}>
      <dl class="keys">${KEYS.map(([key, words]) => html`<div key=${key}><dt><kbd>${key}</kbd></dt><dd>${words}</dd></div>`)}</dl>
      <form method="dialog"><button class="main">Close</button></form>
    </${Dialog}>`}`;
}

function Head({ help, at }) {
  const all = useAll();
  const needs = all?.needs ?? 0;
  return html`<header class="top">
    <${Link} class="brand" href="/"><img src="/a/icon.svg" alt="" width="20" height="20" /> team-executor</${Link}>
    <nav aria-label="Main">
      <${Link} href="/" aria-current=${!at ? 'page' : undefined}>Runs</${Link}>
      <${Link} href="/inbox" aria-current=${at === 'inbox' ? 'page' : undefined}>Inbox${needs ? html` <span class="count hot">${needs}</span>` : ''}</${Link}>
    </nav>
    <span class="grow"></span>
    <button type="button" class="quiet" aria-label="Show the keys" onClick=${help}>?</button>
  </header>`;
}

function Entrance() {
  return html`<main id="main" class="entrance"><h1>This page has no valid token</h1>
    <p>Open the address that <code>team-executor ui</code> printed; it is another one with each start. Run the command again to see it.</p></main>`;
}

/** @returns {HTMLElement | null} */
const first = (selector) => document.querySelector(selector);

/** Keys of the page, except in text fields. */
function keys(help) {
  let before = '';
  const press = (event) => {
    const { target } = event;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === 'Escape') { if (!document.querySelector('dialog[open]')) first('[data-close]')?.click(); return; }
    if (target.closest?.('input, textarea, select, dialog')) return;
    const isGo = before === 'g';
    before = event.key;
    const run = location.pathname.match(/^\/r\/[^/]+/)?.[0];
    if (isGo) {
      const to = { r: run, t: run && `${run}/tasks`, g: run && `${run}/graph`, l: run && `${run}/timeline`, i: '/inbox', h: '/' }[event.key];
      if (to) { event.preventDefault(); before = ''; go(to); }
      return;
    }
    if (event.key === '?') { event.preventDefault(); help(true); }
    if (event.key === '/') { event.preventDefault(); first('[data-search]')?.focus(); }
    const step = { j: 1, k: -1, ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && (event.key.length === 1 || target.closest?.('[data-row]'))) move(step, event);
    if (event.key === 'Enter' && target.matches?.('[data-row]')) target.querySelector('a, button')?.click();
  };
  addEventListener('keydown', press);
  return () => removeEventListener('keydown', press);
}

function move(step, event) {
  const rows = [.../** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll('[data-row]'))].filter((row) => row.offsetParent);
  if (!rows.length) return;
  event.preventDefault();
  const at = rows.indexOf(/** @type {HTMLElement | undefined} */ (document.activeElement?.closest('[data-row]')));
  const next = rows[at < 0 ? 0 : Math.max(0, Math.min(rows.length - 1, at + step))];
  next.focus();
  next.scrollIntoView({ block: 'nearest' });
}

const root = document.getElementById('page');
enter().then((isIn) => {
  root.replaceChildren();
  render(isIn ? html`<${App} />` : html`<${Entrance} />`, root);
});
