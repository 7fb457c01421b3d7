// One run as this tab knows it: how it stands, its tasks, and what has changed since. Views share it.
import { useEffect, useState } from './ui.js';
import { follow, get } from './api.js';
import { WORDS } from './format.js';

/** A run is read anew at most so often. */
const LEAST = 400;
/** What passes with time, for instance silence, is looked at so often. */
const AGAIN = 5000;

class Run {
  constructor(name) {
    this.name = name;
    this.path = `/api/runs/${encodeURIComponent(name)}`;
    this.doc = null;
    this.error = null;
    this.tasks = null;
    this.lines = new Map();
    this.version = 0;
    this.listeners = new Set();
    this.readers = 0;
    this.read = 0;
    this.timer = 0;
    this.isReading = false;
  }

  tell() {
    this.version += 1;
    this.listeners.forEach((tell) => tell(this.version));
  }

  open() {
    this.readers += 1;
    if (this.readers === 1) {
      this.refresh();
      clearInterval(this.pulse);
      this.pulse = setInterval(() => { if (!document.hidden && this.doc?.executor) this.soon(); }, AGAIN);
    }
    return () => {
      this.readers -= 1;
      setTimeout(() => { if (!this.readers) this.close(); }, 1000);
    };
  }

  close() {
    clearInterval(this.pulse);
    clearTimeout(this.timer);
    this.leave?.();
    this.leave = null;
    runs.delete(this.name);
  }

  /** Reads how the run stands, soon: not for each of many changes. */
  soon(after = 0) {
    if (this.timer) return;
    const wait = Math.max(after, LEAST - (Date.now() - this.read), 0);
    this.timer = setTimeout(() => { this.timer = 0; this.refresh(); }, wait);
  }

  async refresh() {
    if (this.isReading) { this.soon(LEAST); return; }
    this.isReading = true;
    this.read = Date.now();
    try {
      this.doc = await get(this.path);
      this.error = null;
      this.at = Date.now();
      if (!this.leave) this.leave = follow(this.name, this.doc.seq, (change) => this.take(change));
      if (!this.doc.is_all) this.soon(1000);
    } catch (error) {
      this.error = error;
      if (error.status !== 404 && error.status !== 401) this.soon(2000);
    }
    this.isReading = false;
    this.tell();
  }

  /** Reads all tasks, once; then changes keep them as they are. */
  async load() {
    if (this.loading) return this.loading;
    this.loading = get(`${this.path}/tasks`, { keep: false }).then((tasks) => {
      tasks.index = new Map(tasks.ids.map((id, at) => [id, at]));
      this.tasks = tasks;
      this.tell();
      return tasks;
    }).catch((error) => {
      this.loading = null;
      this.error = error;
      this.tell();
    });
    return this.loading;
  }

  reload() {
    if (!this.loading) return;
    this.loading = null;
    this.load();
  }

  take(change) {
    if (change.reset) {
      this.lines.clear();
      this.reload();
      this.soon();
    }
    if (change.executor !== undefined && this.doc) this.doc = { ...this.doc, executor: change.executor };
    if (change.counts && this.doc) this.doc = { ...this.doc, counts: change.counts };
    if (change.tasks) {
      for (const [task, [status, attempt]] of Object.entries(change.tasks)) {
        if (WORDS[status] !== 'in_progress') this.lines.delete(task);
        const at = this.tasks?.index.get(task);
        if (at === undefined) continue;
        this.tasks.status[at] = status;
        if (attempt) this.tasks.attempts[at] = attempt;
      }
    }
    for (const [task, line] of Object.entries(change.lines ?? {})) this.lines.set(task, line);
    if (change.more) this.soon();
    // Tasks that can start now are told by the run as a whole.
    if (change.more && this.tasks && this.tasks.ids.length <= 5000) this.fresh();
    this.tell();
  }

  /** Reads the tasks of a small run anew, so that those that can start are seen. */
  fresh() {
    if (this.freshen) return;
    this.freshen = setTimeout(() => { this.freshen = 0; this.reload(); }, 1000);
  }
}

const runs = new Map();

/** The run of this name; the view is made again when something changes. */
export function useRun(name, { tasks = false } = {}) {
  const [, set] = useState(0);
  if (!runs.has(name)) runs.set(name, new Run(name));
  const run = runs.get(name);
  useEffect(() => {
    const tell = (version) => set(version);
    run.listeners.add(tell);
    const close = run.open();
    return () => { run.listeners.delete(tell); close(); };
  }, [run]);
  useEffect(() => { if (tasks) run.load(); }, [run, tasks]);
  return run;
}

/**
 * A document that is read again whenever the run changes, at most every second.
 * @returns {{ path: string | null, value?: any, error?: any }}
 */
export function useDocument(path, version) {
  const [found, set] = useState(/** @type {any} */ ({ path: null }));
  useEffect(() => {
    if (!path) return undefined;
    const control = new AbortController();
    const read = async () => {
      try { set({ path, value: await get(path, { signal: control.signal, keep: false }) }); }
      catch (error) { if (error.name !== 'AbortError') set((before) => ({ ...before, path, error })); }
    };
    read();
    return () => control.abort();
  }, [path, version]);
  return found.path === path ? found : { path };
}
