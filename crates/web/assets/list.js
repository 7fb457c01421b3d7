// A list of rows of one height, of which only those are there that can be seen: a hundred thousand tasks, a million lines.
import { html, useEffect, useLayoutEffect, useRef, useState } from './ui.js';

/** Browsers cut boxes that are higher; then a pixel of the bar stands for more than a pixel of the list. */
const HIGHEST = 8_000_000;
const SPARE = 6;

/**
 * @param {{ count: number, height: number, row: (at: number) => any, label: string, goto?: { at: number }, role?: string,
 *           head?: any, end?: boolean, seen?: (first: number, last: number) => void,
 *           name?: string, columns?: number }} options
 */
export function List({ count, height, row, label, goto, head, end, seen, name = '', columns, role = 'table' }) {
  const box = useRef(null);
  const [top, setTop] = useState(0);
  const [room, setRoom] = useState(600);
  const whole = Math.min(count * height, HIGHEST);
  const isScaled = count * height > HIGHEST;
  const visible = Math.ceil(room / height);
  // The first row, as a number with a fraction.
  const most = Math.max(0, count - room / height);
  const first = isScaled ? (whole > room ? (top / (whole - room)) * most : 0) : top / height;
  const from = Math.max(0, Math.floor(first) - (isScaled ? 0 : SPARE));
  const to = Math.min(count, Math.floor(first) + visible + SPARE);

  useLayoutEffect(() => {
    const measure = () => setRoom(box.current?.clientHeight || 600);
    const observer = new ResizeObserver(measure);
    observer.observe(box.current);
    measure();
    return () => observer.disconnect();
  }, []);

  const place = (at) => (isScaled ? (most ? (at / most) * (whole - room) : 0) : at * height);
  useLayoutEffect(() => {
    if (!goto || !box.current) return;
    const at = Math.max(0, Math.min(goto.at - Math.floor(visible / 3), most));
    box.current.scrollTop = place(at);
    setTop(box.current.scrollTop);
  }, [goto]);
  useLayoutEffect(() => {
    if (end && box.current) { box.current.scrollTop = box.current.scrollHeight; setTop(box.current.scrollTop); }
  }, [end, count]);
  useEffect(() => { seen?.(from, to); }, [from, to, count]);

  // With a scaled bar the wheel still moves by rows.
  const wheel = (event) => {
    if (!isScaled || event.ctrlKey) return;
    event.preventDefault();
    const rows = event.deltaMode === 1 ? event.deltaY : event.deltaY / height;
    box.current.scrollTop = place(Math.max(0, Math.min(first + rows, most)));
  };
  useEffect(() => {
    const there = box.current;
    there.addEventListener('wheel', wheel, { passive: false });
    return () => there.removeEventListener('wheel', wheel);
  });

  const rows = [];
  for (let at = from; at < to; at += 1) rows.push(row(at));
  const shift = isScaled ? top - (first - from) * height : from * height;
  return html`<div class=${`list ${name}`} ref=${box} tabindex="0" role=${role} aria-label=${label}
      aria-rowcount=${role === 'table' ? count + (head ? 1 : 0) : undefined} aria-colcount=${columns} onScroll=${(event) => setTop(event.currentTarget.scrollTop)}>
    ${head && html`<div class="head" role="rowgroup">${head}</div>`}
    <div class="whole" role=${role === 'table' ? 'rowgroup' : undefined} style=${{ height: `${whole}px` }}>
      <div class="rows" role="presentation" style=${{ transform: `translateY(${Math.max(0, shift)}px)` }}>${rows}</div>
    </div>
  </div>`;
}
