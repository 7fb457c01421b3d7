// One stream of changes for everything that a browser shows. It is read with `fetch`, because that can send the token; a
// worker that all tabs share has it, because a browser opens only six connections to a server.

/**
 * @param {{ token: () => string, tell: (message: object) => void }} options
 */
export function makeFeed({ token, tell }) {
  /** @type {Map<string, number | undefined>} the runs that are followed, and the last event of each that is known */
  const runs = new Map();
  let stop = null, wait = 250, timer = 0;

  function again(after) {
    clearTimeout(timer);
    timer = setTimeout(open, after);
  }

  async function open() {
    stop?.abort();
    stop = null;
    if (!runs.size || !token()) return;
    const control = (stop = new AbortController());
    const query = [...runs.keys()].map((run) => `run=${encodeURIComponent(run)}`).join('&');
    const known = [...runs].filter(([, seq]) => seq !== undefined).map(([run, seq]) => `${encodeURIComponent(run)}:${seq}`);
    try {
      const headers = { Authorization: `Bearer ${token()}` };
      if (known.length) headers['Last-Event-ID'] = known.join(',');
      const reply = await fetch(`/api/stream?${query}`, { headers, signal: control.signal, cache: 'no-store' });
      if (!reply.ok) {
        tell({ kind: 'state', connected: false, status: reply.status });
        // A run that is gone, or a token of another start, does not come back by itself.
        if (reply.status === 401) return;
        throw new Error(String(reply.status));
      }
      tell({ kind: 'state', connected: true });
      wait = 250;
      await read(reply.body.getReader());
    } catch (error) {
      if (control.signal.aborted) return;
    }
    if (control.signal.aborted) return;
    tell({ kind: 'state', connected: false });
    wait = Math.min(wait * 2, 5000);
    again(wait);
  }

  async function read(reader) {
    const decoder = new TextDecoder();
    let rest = '';
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      rest += decoder.decode(value, { stream: true });
      const events = rest.split('\n\n');
      rest = events.pop();
      events.forEach(take);
    }
  }

  function take(event) {
    let id, data;
    for (const line of event.split('\n')) {
      if (line.startsWith('id: ')) id = line.slice(4);
      else if (line.startsWith('data: ')) data = line.slice(6);
    }
    if (!data) return;
    const { run, change } = JSON.parse(data);
    if (!runs.has(run)) return;
    if (id) runs.set(run, Number(id.slice(id.lastIndexOf(':') + 1)));
    tell({ kind: 'change', run, change, seq: runs.get(run) });
  }

  return {
    /** Follows a run from behind an event on. */
    follow(run, seq) {
      if (runs.has(run)) return;
      runs.set(run, seq);
      again(0);
    },
    leave(run) {
      if (runs.delete(run)) again(0);
    },
    has: (run) => runs.has(run),
    seq: (run) => runs.get(run),
    open: () => again(0),
  };
}
