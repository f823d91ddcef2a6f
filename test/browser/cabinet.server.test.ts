// The cabinet in a real browser against a real sandbox: every page has its heading, loads from this gateway only, complies with the
// content security policy, has no serious axe finding in either theme, and fits a phone.
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openSandboxShop, type SandboxShop } from '../e2e/sandbox-shop.ts';
import { byDayOrNight } from '../support/at-length.ts';
import { follow, launchChromium, newPerson, open as openPage, seriousFindings, type Watched, watch } from './support/chromium.ts';
import { pages } from './support/pages.ts';

const phone = { width: 375, height: 812 };
const desk = { width: 1440, height: 1000 };

let shop: SandboxShop;
let browser: Browser;
let page: Page;
let cabinet: string;
let saleId = '';
let paidId = '';
let oid = '';
let callbackId = '';
let deviceId = '';
let watched: Watched;

beforeAll(async () => {
  shop = await openSandboxShop();
  cabinet = `${shop.sandbox.baseUrl}/cabinet`;
  const terminal = shop.terminals[0] ?? '';
  const paid = await shop.till.post('/Device/payment/Pay', { DeviceID: terminal, amount: 150.5, documentNr: crypto.randomUUID() });
  paidId = String(paid['OID']);
  const Receipt = { Number: 'R-1', Items: [{ Name: 'Brânză de oi cu mărar și usturoi, ambalată în vid', Quantity: 1, Price: 30 }] };
  const invoice = await shop.till.post('/Invoice/Create', { CallbackURI: 'http://127.0.0.1:9/erp?oid=#OID#', Receipt });
  oid = String(invoice['OID']);
  await shop.till.get('/Invoice/Get', { QR: String(invoice['QR']) });
  const { callbacks } = (await shop.till.admin('/callbacks')) as unknown as { callbacks: { id: string }[] };
  callbackId = callbacks[0]?.id ?? '';
  deviceId = terminal;
  browser = await launchChromium();
  page = await (await newPerson(browser)).newPage();
  watched = watch(page);
}, 120_000);
afterAll(async () => {
  await browser?.close();
  await shop?.close();
});

const open = (path: string) => openPage(page, cabinet, path);
const sideways = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';

const details = () => [
  `/payments/${paidId}`,
  `/invoices/${oid}`,
  `/callbacks?callback=${callbackId}`,
  `/devices?device=${deviceId}`,
  `/audit?q=${deviceId}`,
];

async function inBothThemes(): Promise<string[]> {
  const light = await seriousFindings(page);
  await page.evaluate("document.documentElement.setAttribute('data-mantine-color-scheme', 'dark')");
  const dark = await seriousFindings(page, 'contrast');
  await page.evaluate("document.documentElement.setAttribute('data-mantine-color-scheme', 'light')");
  return [...light, ...dark.map((finding) => `dark: ${finding}`)];
}

describe('signing in', () => {
  it('redirects a browser from {base_url} to the sign-in page, which says that it is the sandbox', async () => {
    await page.goto(shop.sandbox.baseUrl);
    await page.getByRole('heading', { level: 1, name: 'Sign in', exact: true }).waitFor();
    expect(page.url()).toMatch(/\/cabinet/);
    expect(await page.getByText('Sandbox: no real money.').isVisible()).toBe(true);
    const findings = await seriousFindings(page);
    await page.getByRole('button', { name: 'Enter the sandbox', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Overview', exact: true }).waitFor();
    expect(findings).toEqual([]);
  });
});

describe('every page', () => {
  it.each(pages)('%s has a link, a heading and no serious finding in light and dark', async (name, path) => {
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name }).click();
    await page.getByRole('heading', { level: 1, name, exact: true }).waitFor();
    expect(new URL(page.url()).pathname).toBe(`/tillgate/cabinet${path}`);
    await page.locator('.loading').first().waitFor({ state: 'detached' });
    expect(await inBothThemes()).toEqual([]);
  });

  it('has no serious finding for a sale, an invoice, a callback, a device and an audit log entry', {
    timeout: 60_000,
  }, async () => {
    for (const path of details()) {
      await follow(page, cabinet, path);
      expect(await inBothThemes(), path).toEqual([]);
    }
    expect(await page.getByRole('dialog').count()).toBe(0);
  });

  it('fits a phone without horizontal scrolling, and has no serious finding there, in every language', { timeout: 120_000 }, async () => {
    const found: string[] = [];
    const paths = [...pages.map(([, one]) => one), '/overview?period=7d', ...details()];
    // Concurrently, because most of the time is waiting. Russian has the longest texts.
    await Promise.all(
      byDayOrNight(['ru'], ['en', 'ro', 'ru']).map(async (language) => {
        const person = await newPerson(browser);
        const own = await person.newPage();
        await own.setViewportSize(phone);
        await own.goto(cabinet);
        await own.getByRole('button', { name: 'Enter the sandbox', exact: true }).click();
        await own.waitForURL(/\/overview/);
        await own.evaluate(`localStorage.setItem('tillgate.language', '${language}')`);
        await openPage(own, cabinet, '/account');
        expect(await own.locator('html').getAttribute('lang')).toBe(language);
        for (const path of paths) {
          await follow(own, cabinet, path);
          const px = await own.evaluate(sideways);
          if (px !== 0) found.push(`${language} ${path}: ${px} px too wide`);
          found.push(...(await seriousFindings(own, 'structure')).map((finding) => `${language} ${path}: ${finding}`));
        }
        await person.close();
      }),
    );
    expect(found).toEqual([]);
  });
});

describe('a window of a small desk', () => {
  it.each([1280, 1024])('of %i pixels has no serious finding, and its lists scroll by keyboard', { timeout: 120_000 }, async (width) => {
    await page.setViewportSize({ width, height: 800 });
    const found: string[] = [];
    for (const path of [...pages.map(([, one]) => one), ...details()]) {
      await follow(page, cabinet, path);
      found.push(...(await seriousFindings(page, 'structure')).map((finding) => `${path}: ${finding}`));
    }
    expect(found).toEqual([]);
    // Its addresses are wide.
    await follow(page, cabinet, '/callbacks');
    const list = page.locator('.list-scroll[tabindex="0"]');
    await list.focus();
    await page.keyboard.press('ArrowRight');
    await expect.poll(() => page.evaluate("document.querySelector('.list-scroll').scrollLeft")).toBeGreaterThan(0);
    expect([await list.getAttribute('role'), await list.getAttribute('aria-label')]).toEqual(['region', 'Callbacks']);
    await page.setViewportSize(desk);
  });
});

describe('a sale', () => {
  it('is found in the list, opened with the keyboard, and shows its timeline', async () => {
    await open('/payments');
    await page.getByRole('cell', { name: '150.50' }).waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Charged once.' }).waitFor();
    saleId = page.url().split('/').at(-1) ?? '';
    expect(await page.getByText('150.50 MDL requested').isVisible()).toBe(true);
    expect(await page.getByText('Settled: charged once').isVisible()).toBe(true);
    expect(await seriousFindings(page)).toEqual([]);
  });

  it('closes its document in a dialog that states the consequence first', async () => {
    await page.getByRole('button', { name: 'Close document' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('No money moves.').waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Close document' }).click();
    await page.getByText('Nothing to do.').waitFor();
  });

  it('fits a phone, with its timeline in one column', async () => {
    await page.setViewportSize(phone);
    await open(`/payments/${saleId}`);
    await page.getByRole('tab', { name: 'Timeline' }).waitFor();
    expect(await page.evaluate(sideways)).toBe(0);
    expect(await seriousFindings(page)).toEqual([]);
    await page.setViewportSize(desk);
  });
});

describe('languages and themes', () => {
  it('are switched and remembered', async () => {
    await open('/payments');
    await page.getByRole('button', { name: /^Language/ }).click();
    await page.getByRole('menuitem', { name: 'Română' }).click();
    await page.getByRole('heading', { level: 1, name: 'Plăți', exact: true }).waitFor();
    await page.getByRole('button', { name: 'Luminos sau întunecat' }).click();
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Plăți', exact: true }).waitFor();
    const root = page.locator('html');
    expect([await root.getAttribute('lang'), await root.getAttribute('data-mantine-color-scheme')]).toEqual(['ro', 'dark']);
    await page.evaluate('localStorage.clear()');
  });
});

describe('the browser', () => {
  it('has loaded from this gateway only, without a policy violation', () => {
    expect([...watched.asked]).toEqual([new URL(cabinet).origin]);
    expect(watched.complaints).toEqual([]);
  });

  it.each(['en-GB', 'ro', 'ru'])('loads less than 225 KB, fonts included, for the first page in %s', async (locale) => {
    const fresh = await browser.newContext({ locale });
    const first = await fresh.newPage();
    let bytes = 0;
    const session = await fresh.newCDPSession(first);
    await session.send('Network.enable');
    session.on('Network.loadingFinished', ({ encodedDataLength }) => {
      bytes += encodedDataLength;
    });
    await first.goto(cabinet);
    await first.locator('button.primary').click();
    await first.waitForURL(/\/overview/);
    await first.locator('.tiles').waitFor();
    await first.evaluate('document.fonts.ready.then(() => true)');
    const fonts = (await first.evaluate(
      "[...document.fonts].filter(({ status }) => status === 'loaded').map(({ family }) => family)",
    )) as string[];
    await fresh.close();
    expect(new Set(fonts)).toEqual(new Set(['Inter']));
    expect(bytes).toBeGreaterThan(50_000);
    expect(bytes).toBeLessThan(225_000);
  });
});
