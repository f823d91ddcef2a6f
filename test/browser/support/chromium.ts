// One Chromium for a test file, and what every test in it does: open pages, sign in, and hear what the page complains about.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Result } from 'axe-core';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { chromiumPath } from '../../support/servers/chromium.ts';

const flags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Well below a test's own time, so that a failure says what it waited for. */
export const waitMs = 10_000;

export function launchChromium(): Promise<Browser> {
  const executablePath = chromiumPath();
  if (executablePath === undefined) throw new Error('Chromium is not installed.');
  return chromium.launch({ executablePath, args: flags });
}

/** A click may copy in a window; in the headless shell, which has none, it must be allowed. */
export const permissions = ['clipboard-write'];

/** A person at a browser of their own: cookies, storage and tabs are nobody else's. */
export async function newPerson(browser: Browser): Promise<BrowserContext> {
  const context = await browser.newContext({
    reducedMotion: 'reduce',
    locale: 'en-GB',
    viewport: { width: 1440, height: 1000 },
    acceptDownloads: true,
    permissions,
  });
  context.setDefaultTimeout(waitMs);
  return context;
}

export interface Watched {
  /** Origins that were asked for anything. */
  asked: Set<string>;
  complaints: string[];
}

export function watch(page: Page): Watched {
  const watched: Watched = { asked: new Set(), complaints: [] };
  page.on('request', (request) => {
    const { protocol, origin } = new URL(request.url());
    // What the page made itself has no origin that anybody could listen at.
    if (protocol !== 'blob:' && protocol !== 'data:') watched.asked.add(origin);
  });
  page.on('console', (message) => {
    // A call that is not there is the page's own business; a policy that was broken is ours.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      watched.complaints.push(`${page.url()}: ${message.text()} ${message.location().url}`);
  });
  page.on('pageerror', (error) => watched.complaints.push(error.message));
  return watched;
}

/** A theme changes contrasts alone; a language or a width changes everything else. */
const rules = {
  all: {},
  contrast: { runOnly: ['color-contrast'] },
  structure: { rules: { 'color-contrast': { enabled: false } } },
};

/** Every page loads it anew, and the whole text takes half as long again. */
const axeText = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

/** Impacts that a person would feel; each with where it was found. */
export async function seriousFindings(page: Page, which: keyof typeof rules = 'all'): Promise<string[]> {
  if ((await page.evaluate("typeof axe === 'undefined'")) === true) await page.evaluate(axeText);
  const options = JSON.stringify({ resultTypes: ['violations'], ...rules[which] });
  const found = (await page.evaluate(`axe.run(document, ${options}).then(({ violations }) => violations)`)) as Result[];
  return found
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(' | ')}`);
}

export async function signIn(page: Page, cabinet: string, { email, password }: { email: string; password: string }): Promise<void> {
  await page.goto(cabinet);
  await page.getByLabel('E-mail').fill(email);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await heading(page, 'Overview');
}

export function heading(page: Page, name: string | RegExp): Promise<void> {
  return page.getByRole('heading', { level: 1, name, ...(typeof name === 'string' ? { exact: true } : {}) }).waitFor();
}

export async function open(page: Page, cabinet: string, path: string): Promise<void> {
  await page.goto(`${cabinet}${path}`);
  await page.getByRole('heading', { level: 1 }).waitFor();
}

/** Inside the running page, as a link does: quicker than loading it again. The page of the same kind of object is not another page. */
export async function follow(page: Page, cabinet: string, path: string): Promise<void> {
  const address = JSON.stringify(`${new URL(cabinet).pathname}${path}`);
  await page.evaluate(`document.querySelector('h1')?.setAttribute('data-old', ''); history.pushState(null, '', ${address})`);
  await page.locator('h1:not([data-old])').waitFor();
  await page.locator('.loading').first().waitFor({ state: 'detached' });
}
