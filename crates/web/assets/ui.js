// What every view is made of: elements, hooks, and small parts. Text becomes text nodes only, never markup.
import { h, render, Fragment } from './vendor/preact.mjs';
import { useState, useEffect, useLayoutEffect, useRef, useMemo, useCallback } from './vendor/hooks.mjs';
import htm from './vendor/htm.mjs';
import { STATUS, visible } from './format.js';

export { h, render, Fragment, useState, useEffect, useLayoutEffect, useRef, useMemo, useCallback };
export const html = htm.bind(h);

// --- where one is ---------------------------------------------------------------------------------------------------

const moved = new Set();

/** Goes to another view, without loading the page. */
export function go(href, { replace = false } = {}) {
  const before = location.pathname + location.search;
  if (href === before) return;
  history[replace ? 'replaceState' : 'pushState']({ from: before }, '', href);
  moved.forEach((tell) => tell());
}
addEventListener('popstate', () => moved.forEach((tell) => tell()));

/** The address without its fragment; the view is made again when it changes. */
export function usePlace() {
  const [place, set] = useState(() => new URL(location.href));
  useEffect(() => {
    const tell = () => set(new URL(location.href));
    moved.add(tell);
    return () => moved.delete(tell);
  }, []);
  return place;
}

/** A link that stays in the page unless it is opened elsewhere. */
export function Link({ href, children, ...rest }) {
  const click = (event) => {
    if (event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(href);
  };
  return html`<a href=${href} onClick=${click} ...${rest}>${children}</a>`;
}

/** The address of a task, over the view that is open. */
export const taskHref = (run, task, tab) =>
  `/r/${encodeURIComponent(run)}/t/${encodeURIComponent(task)}${tab ? `?tab=${tab}` : ''}`;

// --- parts ----------------------------------------------------------------------------------------------------------

/** Text of others: what would steer the page or hide in it is made visible, and its direction is its own. */
export const Said = ({ text, class: name }) => html`<bdi class=${name}>${visible(text ?? '')}</bdi>`;

/** A status: mark, word and colour, so that none of them says it alone. */
export function State({ status, short }) {
  const { mark, word, name } = STATUS[status] ?? { mark: '?', word: status, name: 'pending' };
  return html`<span class=${`state ${name}`}><span class="mark" aria-hidden="true">${mark}</span> <span class=${short ? 'word short' : 'word'}>${word}</span></span>`;
}

/** How many tasks there are of each status, as a bar and in words. */
export function Counts({ counts, words = true }) {
  if (!counts) return null;
  const order = ['completed', 'skipped', 'failed', 'running', 'ready', 'waiting'];
  const told = order.filter((name) => counts[name]).map((name) => `${counts[name]} ${name}`).join(', ') || 'no tasks';
  return html`<div class="counts">
    <div class="bar" role="img" aria-label=${`${counts.completed} of ${counts.total} completed: ${told}`}>
      ${order.map((name) => counts[name] ? html`<span key=${name} class=${`part ${name}`} style=${{ flexGrow: counts[name] }}></span>` : null)}
    </div>
    ${words && html`<span class="muted small">${told}</span>`}
  </div>`;
}

/** A command to type, and a button that copies it. */
export function Command({ text }) {
  const [copied, set] = useState(false);
  const copy = async () => {
    try { await navigator.clipboard.writeText(text); set(true); setTimeout(() => set(false), 2000); } catch { set(false); }
  };
  return html`<span class="command"><code>${visible(text)}</code><button type="button" class="quiet" onClick=${copy} aria-label=${`Copy the command: ${visible(text)}`}>${copied ? 'Copied' : 'Copy'}</button></span>`;
}

/** A button for something that takes a moment and may fail; it says so. */
export function Act({ act, children, kind = '', disabled, ...rest }) {
  const [busy, set] = useState(false);
  const mounted = useRef(true);
  useEffect(() => () => { mounted.current = false; }, []);
  const click = async () => {
    set(true);
    try { await act(); } catch (error) { say(error.message, error.help, true); }
    if (mounted.current) set(false);
  };
  return html`<button type="button" class=${kind} disabled=${disabled || busy} aria-busy=${busy} onClick=${click} ...${rest}>${children}</button>`;
}

/** Tabs with arrow keys; each panel is named by its tab. */
export function Tabs({ tabs, chosen, choose, label }) {
  const list = useRef(null);
  const key = (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const at = (tabs.findIndex(([name]) => name === chosen) + step + tabs.length) % tabs.length;
    choose(tabs[at][0]);
    list.current?.querySelectorAll('[role=tab]')[at]?.focus();
  };
  return html`<div role="tablist" class="tabs" aria-label=${label} ref=${list} onKeyDown=${key}>
    ${tabs.map(([name, words, count]) => html`<button type="button" role="tab" key=${name} id=${`tab-${name}`}
      aria-selected=${name === chosen} tabIndex=${name === chosen ? 0 : -1} onClick=${() => choose(name)}>${words}${count ? html` <span class="count">${count}</span>` : ''}</button>`)}
  </div>`;
}

/** A window over the page that has to be closed first. */
export function Dialog({ title, close, children }) {
  const dialog = useRef(null);
  useEffect(() => { dialog.current?.showModal(); }, []);
  return html`<dialog ref=${dialog} onClose=${close} aria-label=${title}>
    <h2>${title}</h2>${children}
  </dialog>`;
}

// --- what is asked for ----------------------------------------------------------------------------------------------

const asks = new Set();

/** Asks for words before something is sent: `title`, `words`, `label`, `send(text)`, and whether words are `required`. */
export const askFor = (asking) => asks.forEach((tell) => tell(asking));

/** The window for that. It belongs to the page, so that nothing that changes in a view takes it away. */
export function Asking() {
  const [asking, set] = useState(null);
  const [words, write] = useState('');
  const close = () => set(null);
  useEffect(() => {
    const tell = (asking) => { write(''); set(asking); };
    asks.add(tell);
    return () => asks.delete(tell);
  }, []);
  if (!asking) return null;
  return html`<${Dialog} title=${asking.title} close=${close}>
    <label>${asking.words}<textarea rows="4" value=${words} onInput=${(event) => write(event.currentTarget.value)}></textarea></label>
    <div class="buttons"><${Act} kind=${asking.danger ? 'danger' : 'main'} disabled=${asking.required && !words.trim()}
      act=${async () => { await asking.send(words.trim()); close(); }}>${asking.label}</${Act}>
      <button type="button" onClick=${close}>Back</button></div>
  </${Dialog}>`;
}

// --- what is said for a moment --------------------------------------------------------------------------------------

const told = new Set();
let number = 0;

/** Says something for a few seconds; what went wrong stays until it is closed. */
export function say(text, help, isWrong = false) {
  number += 1;
  told.forEach((tell) => tell({ number, text, help, isWrong }));
}

export function Toasts() {
  const [all, set] = useState([]);
  const close = (one) => set((all) => all.filter((other) => other.number !== one));
  useEffect(() => {
    const tell = (one) => {
      set((all) => [...all.slice(-3), one]);
      if (!one.isWrong) setTimeout(() => close(one.number), 6000);
    };
    told.add(tell);
    return () => told.delete(tell);
  }, []);
  return html`<div class="toasts" role="status" aria-live="polite">
    ${all.map((one) => html`<div key=${one.number} class=${one.isWrong ? 'toast wrong' : 'toast'}>
      <div><${Said} text=${one.text} />${one.help && html`<div class="small"><${Said} text=${`help: ${one.help}`} /></div>`}</div>
      <button type="button" class="quiet" aria-label="Close this message" onClick=${() => close(one.number)}>✕</button>
    </div>`)}
  </div>`;
}

/** Renders again every so many milliseconds: for times that pass. */
export function useTick(every = 1000) {
  const [, set] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => { if (!document.hidden) set((n) => n + 1); }, every);
    return () => clearInterval(timer);
  }, [every]);
}

/** The title of the tab. */
export function useTitle(title) {
  useEffect(() => { document.title = title; }, [title]);
}
