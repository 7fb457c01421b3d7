// Drives the page in Chromium for the tests beside this file: one JSON line is a step, one is its answer. Every wait has a limit.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { join } from 'node:path';

const LIMIT = 60_000;
const [modules, executablePath] = process.argv.slice(2);
const { chromium } = createRequire(join(modules, 'x.js'))('playwright-core');
const axe = readFileSync(join(modules, 'axe-core/axe.min.js'), 'utf8');

const browser = await chromium.launch({
  executablePath,
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});
const problems = [];
let context, page, address, tabs = [];

async function enter(options = {}) {
  const state = await browser.newContext({ viewport: { width: 1280, height: 860 }, ...options });
  state.setDefaultTimeout(LIMIT);
  await state.addInitScript(noteButtons);
  return state;
}

/** In the page: notes which buttons can be pressed, and which are. Names of tasks and files are left out. */
function noteButtons() {
  const noted = (globalThis.notedButtons = { seen: {}, pressed: {} });
  const name = (button) => (button.getAttribute('aria-label') ?? button.textContent).replace(/^(Copy the command).*/, '$1')
    .replace(/ [▲▼]$/, '').replace(/^(Show|Save) .*\/.*/, '$1 an artifact').replace(/( [A-Z][A-Z0-9-]*)+( …)?$/, '$2');
  const look = () => document.querySelectorAll('button:enabled').forEach((button) => { if (button.checkVisibility()) noted.seen[name(button)] = true; });
  new MutationObserver(look).observe(document, { subtree: true, childList: true, attributes: true });
  addEventListener('click', ({ target }) => { const button = target.closest?.('button'); if (button) noted.pressed[name(button)] = true; }, true);
}

/** The buttons of all pages so far. */
const buttons = { seen: new Set(), pressed: new Set() };
async function collectButtons() {
  const noted = await page.evaluate(() => globalThis.notedButtons);
  for (const kind of ['seen', 'pressed']) Object.keys(noted[kind]).forEach((name) => buttons[kind].add(name));
}

function watch(page) {
  page.on('console', (message) => {
    if (message.type() === 'error' && !/Failed to load resource/.test(message.text())) problems.push(message.text());
  });
  page.on('pageerror', (error) => problems.push(`${error.message} ${error.stack ?? ''}`));
  page.on('dialog', (dialog) => { problems.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  return page;
}

const to = (path) => page.evaluate((path) => { history.pushState(null, '', path); dispatchEvent(new PopStateEvent('popstate')); }, path);
const has = (page, texts, not = []) => page.waitForFunction(([texts, not]) => {
  const text = document.body.innerText;
  return texts.every((one) => text.includes(one)) && not.every((one) => !text.includes(one));
}, [texts, not], { timeout: LIMIT }).catch(async () => {
  throw new Error(`not shown: ${JSON.stringify(texts)}, without ${JSON.stringify(not)}, in:\n${await page.evaluate(() => document.body.innerText)}`);
});

const TABS = ['Why', 'Log', 'Prompt', 'Result', 'Changes', 'Artifacts', 'Messages', 'Attempts'];

const steps = {
  async open({ address: given }) {
    address = given;
    if (context) { await collectButtons(); await context.close(); }
    context = await enter();
    page = watch(await context.newPage());
    await page.goto(address);
    await has(page, ['Runs']);
    if (page.url().includes('t=')) throw new Error(`the token is still in ${page.url()}`);
  },

  /** Opens each view by its link, and sees that it shows something. */
  async views({ run, task }) {
    await page.getByRole('link', { name: run }).first().click();
    await has(page, ['Running', 'Next', 'Done', run]);
    const views = page.getByRole('navigation', { name: 'Views of this run' });
    await views.getByRole('link', { name: 'Tasks' }).click();
    await page.getByRole('table', { name: 'Tasks' }).getByRole('link', { name: task, exact: true }).waitFor();
    await page.getByLabel('Search').fill(task.toLowerCase());
    await page.waitForURL(/text=/);
    await page.getByLabel('Status').selectOption('in_progress');
    for (const column of ['Task', 'Title', 'Status', 'Role', 'Wave', 'Attempts', 'Time']) {
      await page.getByRole('table', { name: 'Tasks' }).getByRole('button', { name: column }).click();
    }
    await page.waitForURL(/sort=ran_ms/);
    await page.getByRole('table', { name: 'Tasks' }).getByRole('button', { name: 'Title' }).click();
    await page.waitForURL(/sort=title/);
    await page.getByRole('link', { name: task, exact: true }).click();
    const drawer = page.getByRole('complementary', { name: `Task ${task}` });
    await drawer.waitFor();
    for (const tab of TABS) {
      await drawer.getByRole('tab', { name: tab }).click();
      await drawer.getByRole('tabpanel', { name: tab }).waitFor();
    }
    await drawer.getByRole('tab', { name: 'Log' }).click();
    await has(page, ['waiting']);
    await drawer.getByRole('tab', { name: 'Prompt' }).click();
    await has(page, ['How to report']);
    await drawer.getByRole('button', { name: 'Close the task' }).click();
    await drawer.waitFor({ state: 'detached' });
    await views.getByRole('link', { name: 'Graph' }).click();
    await page.getByRole('link', { name: new RegExp(`^${task} `) }).waitFor();
    for (const name of ['Larger', 'Smaller', 'Fit']) await page.getByRole('button', { name }).click();
    await page.getByLabel('Go to a task').fill(task);
    await page.getByRole('button', { name: 'Show around it' }).click();
    await page.getByRole('link', { name: 'The whole graph' }).click();
    await views.getByRole('link', { name: 'Timeline' }).click();
    await page.getByRole('application', { name: /Timeline/ }).waitFor();
    for (const name of ['Zoom in', 'Zoom out', 'All']) await page.getByRole('button', { name, exact: true }).click();
    await page.getByLabel('Rows').selectOption('slots');
    await page.getByRole('application').press('ArrowDown');
    await has(page, ['attempt 1']);
    await page.getByRole('link', { name: /^Inbox/ }).click();
    await has(page, ['What needs you']);
    await page.getByRole('button', { name: 'Notify me' }).click();
    await page.getByRole('link', { name: 'Runs', exact: true }).click();
    await has(page, ['Needs you', run]);
    await page.getByRole('link', { name: /TC-later$/ }).click();
    await has(page, ['Longest chain', 'X → Y', 'team-executor run']);
    await page.getByRole('button', { name: 'Show the keys' }).click();
    await page.getByRole('dialog', { name: 'Keys' }).getByRole('button', { name: 'Close' }).click();
  },

  async shown({ path, texts }) {
    await to(path);
    await has(page, texts);
    return true;
  },

  async waits({ texts, not }) {
    await has(page, texts, not);
  },

  async press({ button, then }) {
    await page.getByRole('button', { name: button, exact: true }).first().click();
    await page.getByRole('button', { name: then, exact: true }).first().waitFor();
  },

  /** Presses a button in a view; on a card it may open a field for words, which are sent with another button. */
  async card({ path, button, words, send, label }) {
    if (path) await to(path);
    await page.getByRole('button', { name: button, exact: true }).first().click();
    if (words === undefined) return;
    const form = page.locator('form.ask').first();
    if (send) await form.getByRole('textbox').fill(words);
    await form.getByRole('button', { name: send ?? label, exact: true }).click();
    await form.waitFor({ state: 'detached' });
  },

  /** Presses a button that saves a file; what is in it. */
  async saves({ button }) {
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: button, exact: true }).first().click()]);
    return readFileSync(await download.path(), 'utf8');
  },

  /** Searches the log that is open, there and back. */
  async search({ text, count }) {
    await page.locator('.log').getByLabel('Search').fill(text);
    await page.getByRole('button', { name: 'Find', exact: true }).click();
    for (const [button, at] of [[null, 1], ['Next place', 2], ['Previous place', 1]]) {
      if (button) await page.getByRole('button', { name: button }).click();
      await has(page, [`${at} of ${count}`]);
    }
    await page.getByRole('button', { name: 'First error' }).click();
  },

  /** The buttons that were ever there and never pressed, and those that were pressed. */
  async buttons() {
    await collectButtons();
    return { unpressed: [...buttons.seen].filter((name) => !buttons.pressed.has(name)).sort(), pressed: [...buttons.pressed].sort() };
  },

  /** Opens the window of a button, says something in it, and sends it. */
  async ask({ path, button, words, send }) {
    await to(path);
    await page.getByRole('complementary').getByRole('button', { name: button, exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox').fill(words);
    await dialog.getByRole('button', { name: send, exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
  },

  /** Opens the window of a button, and goes back. */
  async asked({ path, button }) {
    await to(path);
    await page.getByRole('complementary').getByRole('button', { name: button, exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Back' }).click();
    await dialog.waitFor({ state: 'detached' });
  },

  /** Copies the first command, as it is pasted elsewhere then. */
  async copies() {
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.getByRole('button', { name: /^Copy the command/ }).first().click();
    await page.getByText('Copied', { exact: true }).waitFor();
    return page.evaluate(() => navigator.clipboard.readText());
  },

  async tabs({ count, path, text }) {
    tabs = [page];
    await to(path);
    while (tabs.length < count) {
      const tab = watch(await context.newPage());
      await tab.goto(new URL(path, address).href);
      tabs.push(tab);
    }
    for (const tab of tabs) await has(tab, [text]);
  },

  async all_tabs({ text }) {
    for (const tab of tabs) await has(tab, [text]);
  },

  async hostile({ run, task }) {
    await to(`/r/${run}/t/${task}?tab=log`);
    await page.locator('.log-line').nth(1).waitFor();
    const log = await page.locator('.log-line .l').first().innerText();
    const red = await page.locator('.log-line .fg1').first().innerText();
    for (const tab of ['artifacts', 'result', 'prompt', 'why']) {
      await to(`/r/${run}/t/${task}?tab=${tab}`);
      await page.getByRole('tabpanel').waitFor();
    }
    await to(`/r/${run}/t/${task}?tab=artifacts`);
    await page.getByRole('button', { name: /^Show artifacts/ }).click();
    await has(page, ['<script>window.hit=1</script>']);
    for (const view of ['tasks', 'graph', 'timeline', '']) {
      await to(`/r/${run}/${view}`);
      await page.waitForTimeout(300);
    }
    await to(`/r/${run}/tasks`);
    const title = await page.locator('.c-title bdi').first().innerText();
    const hit = await page.evaluate(() => Boolean(globalThis.hit) || document.querySelectorAll('#page img:not([alt=""]), #page script, #page b').length > 0);
    return { hit, log, red, title };
  },

  /** What axe finds in each view. */
  async axe({ run, task, scheme }) {
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' });
    const found = [];
    const at = `/r/${run}`;
    for (const [path, text] of [['/', 'Runs'], ['/plan?session=.workflow/.team/TC-later', 'Longest chain'], ['/inbox', 'What needs you'], [at, 'Problems'], [`${at}/tasks`, 'Attempts'], [`${at}/graph`, 'Wave 1'], [`${at}/timeline`, 'attempts in'],
      ...['why', 'log', 'prompt', 'result', 'changes', 'artifacts', 'messages', 'attempts'].map((tab) => [`${at}/t/${task}?tab=${tab}`, task])]) {
      await to(path);
      await has(page, [text]);
      await page.waitForTimeout(250);
      // The policy of the page lets no script in; this comes from outside of it.
      await page.evaluate(`if (!globalThis.axe) { ${axe} }`);
      const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
      for (const { id, nodes } of violations) found.push(`${path}: ${id}: ${nodes.slice(0, 3).map((node) => `${node.html.slice(0, 160)} ${node.any[0]?.message ?? ''}`).join(' | ')}`);
    }
    await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'no-preference' });
    return found;
  },

  /** Keys lead through the page without a mouse. */
  async keys({ run }) {
    await to(`/r/${run}`);
    await has(page, ['Running']);
    await page.evaluate(() => document.activeElement?.blur());
    await page.keyboard.press('g');
    await page.keyboard.press('t');
    await page.getByRole('table', { name: 'Tasks' }).waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    const row = await page.evaluate(() => document.activeElement?.matches('[role=row][data-row]'));
    if (!row) throw new Error('no row has the focus');
    await page.keyboard.press('Enter');
    await page.getByRole('complementary').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('complementary').waitFor({ state: 'detached' });
    await page.keyboard.press('/');
    if (!(await page.evaluate(() => document.activeElement?.matches('[data-search]')))) throw new Error('the search has no focus');
    await page.keyboard.press('Escape');
    await page.evaluate(() => document.activeElement?.blur());
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  },

  /** On a narrow screen nothing is wider than the screen. */
  async narrow({ run, task }) {
    await page.setViewportSize({ width: 380, height: 740 });
    for (const path of ['/', '/plan?session=.workflow/.team/TC-later', `/r/${run}`, `/r/${run}/tasks`, `/r/${run}/graph`, `/r/${run}/timeline`, `/r/${run}/t/${task}`]) {
      await to(path);
      await page.waitForTimeout(250);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (wide > 1) throw new Error(`${path} is ${wide} px wider than the screen`);
    }
    await page.setViewportSize({ width: 1280, height: 860 });
  },

  async shoot({ path, text, file, scheme, width = 1280, height = 800 }) {
    await page.emulateMedia({ colorScheme: scheme ?? 'light', reducedMotion: 'reduce' });
    await page.setViewportSize({ width, height });
    await to(path);
    await has(page, [text]);
    await page.waitForTimeout(700);
    await page.screenshot({ path: file });
  },

  problems: async () => problems.splice(0),
};

for await (const line of createInterface({ input: process.stdin })) {
  const { step, with: given } = JSON.parse(line);
  if (step === 'end') break;
  let answer;
  try {
    let timer;
    const late = new Promise((_, reject) => { timer = setTimeout(() => reject(new Error(`longer than ${2 * LIMIT} ms`)), 2 * LIMIT - 10_000); });
    answer = { value: (await Promise.race([steps[step](given ?? {}), late])) ?? null };
    clearTimeout(timer);
  } catch (error) {
    const seen = await page?.evaluate(() => `${location.href}\n${document.body.innerText}`).catch(() => '');
    answer = { error: `${error.message}\n${error.stack ?? ''}\n${problems.join('\n')}\n${seen}` };
  }
  console.log(JSON.stringify(answer));
}
await browser.close();
process.exit(0);
