// Measures the page in Chromium: one JSON line on standard output.
import { createRequire } from 'node:module';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

const [modules, executablePath, address, run, logged, busy, journal] = process.argv.slice(2);
const { chromium } = createRequire(join(modules, 'x.js'))('playwright-core');
const browser = await chromium.launch({
  executablePath,
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--enable-precise-memory-info'],
});
const context = await browser.newContext({ viewport: { width: 1280, height: 860 } });
context.setDefaultTimeout(100_000);
const page = await context.newPage();
const told = {};
const at = (path) => new URL(path, address).href;
const to = (path) => page.evaluate((path) => { history.pushState(null, '', path); dispatchEvent(new PopStateEvent('popstate')); }, path);

/** Frames a second while something is done in each of them. */
const frames = (act) => page.evaluate(async (act) => {
  const step = new Function('nth', act);
  const begin = performance.now();
  let n = 0, longest = 0, last = begin;
  while (performance.now() - begin < 3000) {
    step(n);
    await new Promise(requestAnimationFrame);
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    n += 1;
  }
  return { fps: Math.round((n * 1000) / (performance.now() - begin)), longest_ms: Math.round(longest) };
}, act);

/** What the tab takes, as the browser's own task manager counts it: memory that no other process has. And all of it, with what is shared. */
const browserSession = await browser.newBrowserCDPSession();
async function memory() {
  const { processInfo } = await browserSession.send('SystemInfo.getProcessInfo');
  const field = (pid, name) => { try { return Number(readFileSync(`/proc/${pid}/status`, 'utf8').match(new RegExp(`${name}:\\s+(\\d+)`))?.[1] ?? 0); } catch { return 0; } };
  const tabs = processInfo.filter(({ type }) => type === 'renderer').map(({ id }) => ({ own: field(id, 'RssAnon') + field(id, 'VmSwap'), all: field(id, 'VmRSS') }));
  const largest = tabs.reduce((a, b) => (b.own > a.own ? b : a), { own: 0, all: 0 });
  return { own_mib: Math.round(largest.own / 1024), with_shared_mib: Math.round(largest.all / 1024) };
}

await page.goto(address);
await page.waitForFunction(() => document.body.innerText.includes('Runs'));
if (run) {
  for (const [name, path, text] of [['first_run_view_ms', `/r/${run}`, 'Running'], ['first_tasks_view_ms', `/r/${run}/tasks`, 'Attempts'], ['again_tasks_view_ms', `/r/${run}/tasks`, 'Attempts']]) {
    const begin = Date.now();
    await page.goto(at(path));
    await page.waitForFunction((text) => document.body.innerText.includes(text), text, { polling: 20 });
    told[name] = Date.now() - begin;
  }
  told.tasks_scroll = await frames("document.querySelector('.list.table').scrollTop = nth * 900;");
  await to(`/r/${run}/graph`);
  let begin = Date.now();
  await page.waitForFunction(() => document.querySelector('svg .node'), undefined, { polling: 20 });
  told.graph_ms = Date.now() - begin;
  await to(`/r/${run}/timeline`);
  begin = Date.now();
  await page.waitForFunction(() => document.body.innerText.includes('attempts in'), undefined, { polling: 20 });
  told.timeline_ms = Date.now() - begin;
  told.timeline_scroll = await frames("document.querySelector('.plot canvas').dispatchEvent(new WheelEvent('wheel', { deltaY: 700, bubbles: true, cancelable: true }));");
  told.tab = await memory();
  told.heap_mib = Math.round((await page.evaluate(() => performance.memory.usedJSHeapSize)) / 2 ** 20);
}
if (logged) {
  let begin = Date.now();
  await to(`/r/${logged}/t/A?tab=log`);
  await page.waitForFunction(() => document.querySelectorAll('.log-line').length > 5 && !document.querySelector('.log-line .l').textContent.startsWith('…'), undefined, { polling: 10 });
  told.log_first_screen_ms = Date.now() - begin;
  told.log_scroll = await frames("document.querySelector('.list.lines').scrollTop = nth * 4000;");
  await page.locator('.log input[type=search]').fill('needle');
  begin = Date.now();
  await page.getByRole('button', { name: 'Find', exact: true }).click();
  await page.waitForFunction(() => document.querySelector('.log-line.hit')?.textContent.includes('needle'), undefined, { polling: 10 });
  told.log_search_ms = Date.now() - begin;
}
if (logged) told.tab_with_log = await memory();
if (busy) {
  // In turn without and with the page, in one run: how many records the journal gets, and how the page does meanwhile.
  const STEP = 4000;
  const records = (from) => readFileSync(journal).subarray(from).reduce((n, byte) => n + (byte === 10), 0);
  const during = async (act) => {
    const [from, begin] = [statSync(journal).size, performance.now()];
    const value = await act();
    const rest = STEP - (performance.now() - begin);
    if (rest > 0) await new Promise((done) => setTimeout(done, rest));
    return { count: records(from), ms: performance.now() - begin, value };
  };
  const sums = { without: [0, 0], with: [0, 0] };
  const seen = [];
  for (let nth = 0; nth < 4; nth += 1) {
    await page.goto('about:blank');
    const quiet = await during(async () => {});
    await page.goto(at(`/r/${busy}`));
    await page.waitForFunction(() => document.body.innerText.includes('Running'));
    const watched = await during(async () => {
      const drawn = await frames('');
      const begin = performance.now();
      await page.getByRole('link', { name: 'Tasks', exact: true }).click();
      await page.getByRole('table', { name: 'Tasks' }).waitFor();
      return { ...drawn, view_ms: Math.round(performance.now() - begin) };
    });
    for (const [name, one] of [['without', quiet], ['with', watched]]) { sums[name][0] += one.count; sums[name][1] += one.ms; }
    seen.push(watched.value);
  }
  const pace = ([count, ms]) => Math.round((count * 1000) / ms);
  told.busy = { events_a_second_without: pace(sums.without), events_a_second_with: pace(sums.with), ratio: Math.round((100 * pace(sums.with)) / pace(sums.without)) / 100,
    slowest_fps: Math.min(...seen.map((one) => one.fps)), longest_frame_ms: Math.max(...seen.map((one) => one.longest_ms)), slowest_view_ms: Math.max(...seen.map((one) => one.view_ms)) };
}
console.log(JSON.stringify(told, null, 1));
await browser.close();
