// What needs a person, over all runs of the project; and the list of runs itself, which the inbox and the head share.
import { Act, Link, Said, html, useEffect, useState, useTitle } from '../ui.js';
import { get } from '../api.js';
import { Cards } from '../attention.js';

/** All runs are looked at so often while the page is seen. */
const EVERY = 3000;
/** The run that is open comes first: what was read of it need not be read again for the list. */
const AFTER = 200;

let latest = null, timer = 0, isReading = false;
const readers = new Set();
const announced = new Set();

async function read() {
  clearTimeout(timer);
  if (isReading) return;
  isReading = true;
  try {
    if (!document.hidden || !latest) {
      const list = await get('/api/runs');
      if (list !== latest?.list) {
        const items = list.runs.flatMap((run) => (run.newest ? (run.attention?.needs ?? []).map((item) => ({ item, run })) : []));
        latest = { list, items, needs: items.length };
        notify(items);
      }
      latest = { ...latest, error: null };
    }
  } catch (error) {
    latest = { ...latest, error };
  }
  isReading = false;
  readers.forEach((tell) => tell(latest));
  if (readers.size) timer = setTimeout(read, EVERY);
}
document.addEventListener('visibilitychange', () => { if (!document.hidden && readers.size) read(); });

/** All runs, read again and again while the view is open. */
export function useAll() {
  const [all, set] = useState(latest);
  useEffect(() => {
    readers.add(set);
    if (readers.size === 1) timer = setTimeout(read, location.pathname.startsWith('/r/') ? AFTER : 0);
    return () => { readers.delete(set); };
  }, []);
  return all;
}

/** Reads all runs now. */
export const readAll = () => read();

/** One notification for each new need, if the reader allows them. */
function notify(items) {
  const known = announced.size > 0;
  for (const { item, run } of items) {
    const key = `${run.run} ${item.kind} ${item.task} ${item.why}`;
    if (announced.has(key)) continue;
    announced.add(key);
    if (known && document.hidden && globalThis.Notification?.permission === 'granted') {
      new Notification('team-executor needs you', { body: `${item.task ?? run.run}: ${item.why}`, tag: key });
    }
  }
  announced.add('');
}

export function Inbox() {
  const all = useAll();
  const [permission, set] = useState(globalThis.Notification?.permission);
  useTitle(`${all?.needs ? `(${all.needs}) ` : ''}Inbox · team-executor`);
  const waiting = (all?.list?.runs ?? []).filter((run) => run.newest && run.attention?.needs.length);
  return html`<main id="main" class="inbox">
    <div class="line"><h1>What needs you</h1><span class="grow"></span>
      ${permission === 'default' && html`<${Act} act=${async () => set(await Notification.requestPermission())}>Notify me</${Act}>`}</div>
    <p class="muted" aria-live="polite">${all?.list ? (all.needs ? `${all.needs} to decide` : 'Nothing waits for you') : 'Reading …'}</p>
    ${all?.error && html`<p class="wrong"><${Said} text=${all.error.message} /></p>`}
    ${waiting.map((run) => html`<section key=${run.run} aria-label=${run.run}>
      <h2><${Link} href=${`/r/${encodeURIComponent(run.run)}`}><${Said} text=${run.run} /></${Link}></h2>
      <${Cards} items=${run.attention.needs} run=${run.run} canAct=${!all.list.read_only} done=${readAll} />
    </section>`)}
  </main>`;
}
