// Measures the page in Chromium: one JSON line on standard output.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const [modules, executablePath, address, run, logged] = process.argv.slice(2);
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
// The largest process of a tab, as the system counts it.
const rss = (pid) => { try { return Number(readFileSync(`/proc/${pid}/status`, 'utf8').match(/VmRSS:\s+(\d+)/)?.[1] ?? 0); } catch { return 0; } };
const session = await browser.newBrowserCDPSession();
const { processInfo } = await session.send('SystemInfo.getProcessInfo');
told.tab_rss_mib = Math.round(Math.max(...processInfo.filter((one) => one.type === 'renderer').map((one) => rss(one.id))) / 1024);
console.log(JSON.stringify(told));
await browser.close();
