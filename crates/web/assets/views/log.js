// The log of an attempt. Only the lines that are seen are there; search and the first error are looked for in all of it.
import { Act, html, useCallback, useEffect, useRef, useState } from '../ui.js';
import { get, save } from '../api.js';
import { List } from '../list.js';
import { number, size, terminal } from '../format.js';

const ROW = 18;
const PAGE = 500;
/** How many pages are kept. */
const KEPT = 12;
/** A log that grows is looked at so often. */
const EVERY = 700;

export function Log({ path, task, run }) {
  const [attempt, setAttempt] = useState(0);
  const [stream, setStream] = useState('stdout');
  const [raw, setRaw] = useState(false);
  const [follow, setFollow] = useState(task.status === 'in_progress');
  const [wrap, setWrap] = useState(false);
  const [head, setHead] = useState(null);
  const [goto, setGoto] = useState(null);
  const [text, setText] = useState('');
  const [hits, setHits] = useState(null);
  const [error, setError] = useState(null);
  const [, again] = useState(0);
  const pages = useRef(new Map());
  const query = `attempt=${attempt}&stream=${stream}${raw ? '&raw=1' : ''}`;
  const wanted = useRef(query);
  wanted.current = query;

  const read = useCallback(async (more, isPage) => {
    const asked = wanted.current;
    try {
      const window = await get(`${path}/log?${asked}&${more}`, { keep: false });
      if (asked !== wanted.current) return null;
      setError(null);
      setHead((before) => ({ ...window, lines: undefined, total: Math.max(window.total, before?.query === asked ? before.total : 0), query: asked }));
      if (isPage) {
        take(window);
        again((n) => n + 1);
      }
      return window;
    } catch (error) {
      setError(error);
      return null;
    }
  }, [path]);

  /** Keeps lines by pages. */
  const take = (window) => {
    window.lines.forEach((line, nth) => {
      const at = window.from + nth;
      const page = Math.floor(at / PAGE);
      if (!pages.current.has(page)) pages.current.set(page, { lines: [], at: Date.now() });
      const kept = pages.current.get(page);
      kept.lines[at % PAGE] = { line, kind: window.kinds?.[nth] };
      kept.at = Date.now();
    });
    while (pages.current.size > KEPT) {
      const [oldest] = [...pages.current].sort((a, b) => a[1].at - b[1].at)[0];
      pages.current.delete(oldest);
    }
  };

  useEffect(() => {
    pages.current.clear();
    setHead(null);
    setHits(null);
    const line = location.hash.match(/^#L(\d+)$/);
    if (line) {
      const at = Number(line[1]) - 1;
      setFollow(false);
      read(`from=${Math.max(0, at - PAGE / 2)}&count=${PAGE}`, true).then(() => setGoto({ at }));
    } else {
      read(follow ? `count=${PAGE}` : `from=0&count=${PAGE}`, true);
    }
  }, [query]);

  // As long as the attempt goes on.
  useEffect(() => {
    if (!head?.grows) return undefined;
    const timer = setInterval(() => {
      if (!document.hidden) read(follow ? `count=${PAGE}` : 'from=0&count=0', follow);
    }, EVERY);
    return () => clearInterval(timer);
  }, [head?.grows, follow, query]);

  const asking = useRef(new Set());
  const seen = (from, to) => {
    for (let page = Math.floor(from / PAGE); page <= Math.floor(Math.max(from, to - 1) / PAGE); page += 1) {
      const kept = pages.current.get(page);
      const first = page * PAGE;
      const last = Math.min(first + PAGE, head?.total ?? 0);
      const lacks = () => { for (let at = Math.max(from, first); at < Math.min(to, last); at += 1) if (!kept?.lines[at % PAGE]) return true; return false; };
      const key = `${wanted.current} ${page}`;
      if (!lacks() || asking.current.has(key)) continue;
      asking.current.add(key);
      read(`from=${first}&count=${PAGE}`, true).finally(() => asking.current.delete(key));
    }
  };

  const find = async (what) => {
    const found = await read(what, false);
    if (!found) return;
    setHits({ lines: found.hits ?? [], total: found.hits_total, at: 0 });
    setFollow(false);
    if (found.hits?.length) setGoto({ at: found.hits[0] });
  };
  const step = (by) => {
    if (!hits?.lines.length) return;
    const at = (hits.at + by + hits.lines.length) % hits.lines.length;
    setHits({ ...hits, at });
    setGoto({ at: hits.lines[at] });
  };

  const row = (at) => {
    const kept = pages.current.get(Math.floor(at / PAGE))?.lines[at % PAGE];
    const isHit = hits?.lines[hits.at] === at;
    return html`<div class=${`log-line ${kept?.kind ?? ''} ${isHit ? 'hit' : ''}`} key=${at} id=${`L${at + 1}`}>
      <a class="n" href=${`#L${at + 1}`} tabindex="-1" aria-label=${`Line ${at + 1}`}>${at + 1}</a><span class="l" dir="auto">${kept ? terminal(kept.line).map((part, nth) => html`<span key=${nth} class=${part.name}>${part.text}</span>`) : '…'}</span></div>`;
  };

  return html`<section class="log" aria-label="Log">
    <form class="filters" onSubmit=${(event) => { event.preventDefault(); find(`find=${encodeURIComponent(text)}`); }}>
      <label>Attempt <select value=${attempt} onChange=${(event) => setAttempt(Number(event.currentTarget.value))}>
        <option value="0">last</option>${Array.from({ length: head?.attempts ?? 0 }, (_, nth) => html`<option key=${nth} value=${nth + 1}>${nth + 1}</option>`)}</select></label>
      <label>Stream <select value=${stream} onChange=${(event) => setStream(event.currentTarget.value)}><option>stdout</option><option>stderr</option></select></label>
      <label>Search <input type="search" data-search value=${text} onInput=${(event) => setText(event.currentTarget.value)} /></label>
      <button type="submit" disabled=${!text}>Find</button>
      <button type="button" onClick=${() => find('error=1')}>First error</button>
      ${hits && html`<span role="status" class="small">${hits.total ? `${number(hits.at + 1)} of ${number(hits.total)}` : 'nowhere'}</span>
        <button type="button" disabled=${hits.lines.length < 2} aria-label="Previous place" onClick=${() => step(-1)}>↑</button>
        <button type="button" disabled=${hits.lines.length < 2} aria-label="Next place" onClick=${() => step(1)}>↓</button>`}
      <label class="check"><input type="checkbox" checked=${follow} onChange=${(event) => setFollow(event.currentTarget.checked)} /> Follow</label>
      <label class="check"><input type="checkbox" checked=${wrap} onChange=${(event) => setWrap(event.currentTarget.checked)} /> Long lines</label>
      ${(head?.decoded || raw) && html`<label class="check"><input type="checkbox" checked=${raw} onChange=${(event) => setRaw(event.currentTarget.checked)} /> As written</label>`}
      <${Act} act=${() => save(`${path}/log/text?${query}`, `${task.task}-${stream}.log`)}>Save</${Act}>
    </form>
    ${error && html`<p class="wrong" role="alert">${error.message}</p>`}
    ${head && html`<p class="muted small">${number(head.total)} ${head.total === 1 ? 'line' : 'lines'}${head.bytes ? `, ${size(head.bytes)}` : ''}${head.grows ? ', it goes on' : ''}</p>`}
    ${head && head.total > 0 ? html`<${List} count=${head.total} height=${ROW} row=${row} seen=${seen} goto=${goto} end=${follow} label="Lines of the log" role="log" name=${wrap ? 'lines long' : 'lines'} />` : head && html`<p class="muted">It printed nothing.</p>`}
  </section>`;
}
