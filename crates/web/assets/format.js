// How statuses, times and text of others are written.

/** By its word in the run, and by the names of counts. */
export const STATUS = {
  pending: { mark: '·', word: 'waiting', name: 'waiting' },
  waiting: { mark: '·', word: 'waiting', name: 'waiting' },
  ready: { mark: '○', word: 'ready', name: 'ready' },
  in_progress: { mark: '▶', word: 'running', name: 'running' },
  running: { mark: '▶', word: 'running', name: 'running' },
  completed: { mark: '✓', word: 'completed', name: 'completed' },
  failed: { mark: '✗', word: 'failed', name: 'failed' },
  skipped: { mark: '⊘', word: 'skipped', name: 'skipped' },
  interrupted: { mark: '↯', word: 'interrupted', name: 'skipped' },
  paused: { mark: '‖', word: 'paused', name: 'ready' },
  finished: { mark: '■', word: 'finished', name: 'completed' },
};

/** The statuses of tasks in their order. */
export const WORDS = ['pending', 'ready', 'in_progress', 'completed', 'failed', 'skipped'];

/** A length of time in at most two units. */
export function length(ms) {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 1 && ms > 0) return `${Math.round(ms)} ms`;
  if (s < 60) return `${s}s`;
  if (s < 3600) return `${Math.floor(s / 60)}m ${String(s % 60).padStart(2, '0')}s`;
  if (s < 86400) return `${Math.floor(s / 3600)}h ${String(Math.floor((s % 3600) / 60)).padStart(2, '0')}m`;
  return `${Math.floor(s / 86400)}d ${Math.floor((s % 86400) / 3600)}h`;
}

/** How long ago a moment was. */
export const ago = (at) => (at == null ? '' : `${length(Date.now() - (typeof at === 'string' ? Date.parse(at) : at))} ago`);

/** A moment on the reader's clock. */
export const moment = (at) => (at == null ? '' : new Date(at).toLocaleString(undefined, { dateStyle: 'short', timeStyle: 'medium' }));

export const number = (n) => n.toLocaleString('en');

export function size(bytes) {
  if (bytes == null) return '';
  for (const { unit, name } of [{ unit: 2 ** 30, name: 'GiB' }, { unit: 2 ** 20, name: 'MiB' }, { unit: 2 ** 10, name: 'KiB' }]) {
    if (bytes >= unit) return `${(bytes / unit).toFixed(1)} ${name}`;
  }
  return `${bytes} B`;
}

export function tokens(n) {
  if (!n) return '';
  if (n < 10_000) return `${number(n)} tokens`;
  return n < 10_000_000 ? `${Math.floor(n / 1000)}k tokens` : `${Math.floor(n / 1_000_000)}M tokens`;
}

export const dollars = (usd, estimated) => (usd == null ? '' : `${estimated ? '~' : ''}$${usd.toFixed(2)}`);

/** Control characters as pictures, and what changes the direction of text or hides in it as a replacement; lines stay. */
export function visible(text) {
  return String(text).replace(
    // eslint-disable-next-line no-control-regex
    /[\u0000-\u0008\u000b-\u001f\u007f\u0080-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]|\u{e0000}[\u{e0000}-\u{e007f}]*/gu,
    (c) => {
      const code = c.codePointAt(0);
      if (code < 0x20) return String.fromCharCode(0x2400 + code);
      return code === 0x7f ? '\u2421' : '\ufffd';
    },
  );
}

/** A line of a log as parts with classes: colours of a terminal are kept, its other commands are dropped. */
export function terminal(line) {
  if (!line.includes('\u001b')) return [{ name: '', text: visible(line) }];
  const parts = [];
  let name = '', last = 0;
  // Commands to a terminal: colours, other sequences, titles of windows.
  // eslint-disable-next-line no-control-regex
  const commands = /\u001b(?:\[([0-9;:]*)m|\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\-_])/g;
  for (let found; (found = commands.exec(line)); last = commands.lastIndex) {
    if (found.index > last) parts.push({ name, text: visible(line.slice(last, found.index)) });
    if (found[1] !== undefined) name = coloured(name, found[1]);
  }
  if (last < line.length) parts.push({ name, text: visible(line.slice(last)) });
  return parts;
}

function coloured(before, codes) {
  const set = new Set(before.split(' ').filter(Boolean));
  const drop = (kind) => { for (const one of [...set]) if (one.startsWith(kind)) set.delete(one); };
  for (const code of codes.split(/[;:]/).map(Number)) {
    if (code === 0) set.clear();
    else if (code === 1) set.add('bold');
    else if (code === 22) set.delete('bold');
    else if (code >= 30 && code <= 37) { drop('fg'); set.add(`fg${code - 30}`); }
    else if (code >= 90 && code <= 97) { drop('fg'); set.add(`fg${code - 90}`); }
    else if (code === 39) drop('fg');
    else if (code === 38 || code === 48) break; // colours by number are left out
  }
  return [...set].join(' ');
}
