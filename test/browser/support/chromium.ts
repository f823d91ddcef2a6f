// One Chromium for a test file, with helpers: open pages, sign in, and record errors of the page.
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

/** Well below the time-out of a test, so that a failure names the element it waited for. */
export const waitMs = 10_000;

export function launchChromium(): Promise<Browser> {
  const executablePath = chromiumPath();
  if (executablePath === undefined) throw new Error('Chromium is not installed.');
  return chromium.launch({ executablePath, args: flags });
}

/** A window allows a click to copy; the headless shell needs this permission. */
export const permissions = ['clipboard-write'];

/** A browser context for one person, with its own cookies, storage and tabs. */
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
  /** Origins of all requests. */
  asked: Set<string>;
  complaints: string[];
}

export function watch(page: Page): Watched {
  const watched: Watched = { asked: new Set(), complaints: [] };
  page.on('request', (request) => {
    const { protocol, origin } = new URL(request.url());
    // blob: and data: URLs have no network origin.
    if (protocol !== 'blob:' && protocol !== 'data:') watched.asked.add(origin);
  });
  page.on('console', (message) => {
    // Failed requests are handled by the page; policy violations are errors.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      watched.complaints.push(`${page.url()}: ${message.text()} ${message.location().url}`);
  });
  page.on('pageerror', (error) => watched.complaints.push(error.message));
  return watched;
}

/** A theme affects contrast only; a language or a width everything else. */
const rules = {
  all: {},
  contrast: { runOnly: ['color-contrast'] },
  structure: { rules: { 'color-contrast': { enabled: false } } },
};

/** Injected into every page; the unminified source takes half as long again. */
const axeText = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

/** Serious and critical axe violations, each with its elements. */
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

/** Navigates inside the running page like a link, which is faster than a reload. Not for two pages of the same kind of object. */
export async function follow(page: Page, cabinet: string, path: string): Promise<void> {
  const address = JSON.stringify(`${new URL(cabinet).pathname}${path}`);
  await page.evaluate(`document.querySelector('h1')?.setAttribute('data-old', ''); history.pushState(null, '', ${address})`);
  await page.locator('h1:not([data-old])').waitFor();
  await page.locator('.loading').first().waitFor({ state: 'detached' });
}
