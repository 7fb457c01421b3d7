// The way to the server: the token, requests, and changes as they come.
import { makeFeed } from './stream.js';

const KEY = 'team-executor-token';
let token = '';

/** Why a request was not carried out. */
export class Refused extends Error {
  constructor(status, message, help) {
    super(message);
    this.status = status;
    this.help = help;
  }
}

// --- the token ------------------------------------------------------------------------------------------------------

/** Takes the token out of the address, where it must not stay, or from this tab, or from another one. */
export async function enter() {
  const given = new URLSearchParams(location.hash.slice(1));
  if (given.get('t')) {
    token = given.get('t');
    const view = given.get('v');
    history.replaceState(null, '', view?.startsWith('/') && !view.startsWith('//') ? view : location.pathname + location.search);
  } else {
    token = sessionStorage.getItem(KEY) ?? '';
  }
  connect();
  if (!token) token = await asked;
  if (token) sessionStorage.setItem(KEY, token);
  return Boolean(token);
}

// --- requests -------------------------------------------------------------------------------------------------------

/** What was read before, by address: it is not sent again while it is the same. */
const known = new Map();
const KEPT = 40;

/**
 * Reads a document.
 * @param {string} path
 * @param {{ signal?: AbortSignal, keep?: boolean }} options
 */
export async function get(path, { signal, keep = true } = {}) {
  const before = keep ? known.get(path) : undefined;
  const headers = { Authorization: `Bearer ${token}` };
  if (before) headers['If-None-Match'] = before.tag;
  const reply = await send(path, { headers, signal, cache: 'no-store' });
  if (reply.status === 304 && before) return before.value;
  const value = await reply.json();
  const tag = reply.headers.get('etag');
  if (tag && keep) {
    known.delete(path);
    known.set(path, { tag, value });
    if (known.size > KEPT) known.delete(known.keys().next().value);
  }
  return value;
}

/**
 * Reads text of others.
 * @param {string} path
 * @param {{ signal?: AbortSignal }} options
 */
export async function text(path, { signal } = {}) {
  const reply = await send(path, { headers: { Authorization: `Bearer ${token}` }, signal, cache: 'no-store' });
  return reply.text();
}

/** Saves text of others as a file. A link could not send the token. */
export async function save(path, name) {
  const reply = await send(path, { headers: { Authorization: `Bearer ${token}` }, cache: 'no-store' });
  const link = document.createElement('a');
  link.href = URL.createObjectURL(await reply.blob());
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** Asks a run for something; what was done, in words. */
export async function ask(run, to, request) {
  const reply = await send(`/api/runs/${encodeURIComponent(run)}/requests`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ to, request }),
  });
  return reply.json();
}

/** A request to the run itself, as the program writes them. */
export const control = (run, request) => ask(run, 'control', { version: 1, ...request });

async function send(path, options) {
  let reply;
  try {
    reply = await fetch(path, options);
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new Refused(0, 'the page cannot reach its server', 'is `team-executor ui` still running?');
  }
  if (reply.ok || reply.status === 304) return reply;
  const { error, help } = await reply.json().catch(() => ({ error: reply.statusText, help: '' }));
  if (reply.status === 401) refusals.forEach((tell) => tell());
  throw new Refused(reply.status, error, help);
}

const refusals = new Set();
/** Calls when the server takes the token no more. */
export const onRefused = (tell) => refusals.add(tell);

// --- changes --------------------------------------------------------------------------------------------------------

/** A hidden tab follows nothing after so long. */
const HIDDEN = 30_000;
const followers = new Map();
const states = new Set();
let port, feed, hidden = 0, away = false, connected = true;
let answer;
const asked = new Promise((resolve) => { answer = resolve; });

function connect() {
  try {
    // A browser takes the address of a worker only from a policy.
    const policy = globalThis.trustedTypes?.createPolicy('team-executor', { createScriptURL: (url) => url });
    const url = '/a/worker.js';
    const worker = new SharedWorker(policy ? policy.createScriptURL(url) : url, { type: 'module', name: 'team-executor' });
    worker.onerror = alone;
    ({ port } = worker);
    port.onmessage = ({ data }) => heard(data);
    port.start();
    port.postMessage({ kind: 'hello', token });
    // A worker that says nothing has another token to give, or none.
    setTimeout(() => answer(''), 1500);
  } catch {
    alone();
  }
  addEventListener('pagehide', () => port?.postMessage({ kind: 'bye' }));
  addEventListener('pageshow', (event) => { if (event.persisted) location.reload(); });
  document.addEventListener('visibilitychange', () => {
    clearTimeout(hidden);
    if (document.hidden) hidden = setTimeout(leaveAll, HIDDEN);
    else if (away) returnAll();
  });
}

/** Without a worker that tabs share, each has a stream of its own. */
function alone() {
  port = null;
  answer('');
  feed ??= makeFeed({ token: () => token, tell: heard });
  for (const [run, { seq }] of followers) feed.follow(run, seq);
}

function heard(message) {
  if (message.kind === 'hello') answer(message.token);
  if (message.kind === 'state') {
    connected = message.connected;
    states.forEach((tell) => tell(connected));
  }
  if (message.kind === 'change') followers.get(message.run)?.tell(message.change, message.seq);
}

const post = (message) => (port ? port.postMessage(message) : message.kind === 'follow' ? feed?.follow(message.run, message.seq) : feed?.leave(message.run));

function leaveAll() {
  away = true;
  for (const run of followers.keys()) post({ kind: 'leave', run });
}

function returnAll() {
  away = false;
  for (const [run, one] of followers) {
    post({ kind: 'follow', run });
    one.tell({ reset: true });
  }
}

/** Tells what changes in a run behind an event, until it is left. */
export function follow(run, seq, tell) {
  followers.set(run, { tell, seq });
  if (!away) post({ kind: 'follow', run, seq });
  return () => {
    followers.delete(run);
    post({ kind: 'leave', run });
  };
}

/** Tells whether changes come. */
export function onConnection(tell) {
  states.add(tell);
  tell(connected);
  return () => states.delete(tell);
}
