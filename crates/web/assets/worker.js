// Shared by all tabs of this page: it has the token and the one stream of changes.
import { makeFeed } from './stream.js';

let token = '';
let connected;
/** Each tab with the runs that it shows. */
const tabs = new Map();
const feed = makeFeed({ token: () => token, tell });

function tell(message) {
  if (message.kind === 'state') connected = message;
  for (const [port, runs] of tabs) {
    if (message.kind !== 'change' || runs.has(message.run)) port.postMessage(message);
  }
}

function settle() {
  const wanted = new Set();
  for (const runs of tabs.values()) runs.forEach((run) => wanted.add(run));
  followed.forEach((run) => { if (!wanted.has(run)) { followed.delete(run); feed.leave(run); } });
}
const followed = new Set();

addEventListener('connect', (/** @type {MessageEvent} */ { ports: [port] }) => {
  tabs.set(port, new Set());
  port.onmessage = ({ data }) => {
    const runs = tabs.get(port);
    if (!runs && data.kind !== 'hello') return;
    if (data.kind === 'hello') {
      if (data.token && data.token !== token) { token = data.token; feed.open(); }
      port.postMessage({ kind: 'hello', token });
      if (connected) port.postMessage(connected);
    } else if (data.kind === 'follow') {
      const isNew = !feed.has(data.run);
      // Another tab may have the run open and know less of it: this one reads it anew then.
      if (!isNew && data.seq !== undefined && data.seq < (feed.seq(data.run) ?? 0)) {
        port.postMessage({ kind: 'change', run: data.run, change: { reset: true } });
      }
      runs.add(data.run);
      followed.add(data.run);
      feed.follow(data.run, data.seq);
    } else if (data.kind === 'leave') {
      runs.delete(data.run);
      settle();
    } else if (data.kind === 'bye') {
      tabs.delete(port);
      settle();
    }
  };
});
