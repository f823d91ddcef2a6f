// The first minutes with the cabinet in a real browser: a page that cannot be loaded, an empty sandbox, a payment left open.
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openSandboxShop, type SandboxShop } from '../e2e/sandbox-shop.ts';
import { heading, launchChromium, newPerson, open as openPage, seriousFindings } from './support/chromium.ts';

let shop: SandboxShop;
let browser: Browser;
let page: Page;
let cabinet: string;

beforeAll(async () => {
  shop = await openSandboxShop();
  cabinet = `${shop.sandbox.baseUrl}/cabinet`;
  browser = await launchChromium();
  page = await (await newPerson(browser)).newPage();
  await page.goto(cabinet);
  await page.getByRole('button', { name: 'Enter the sandbox', exact: true }).click();
  await heading(page, 'Overview');
}, 120_000);
afterAll(async () => {
  await browser?.close();
  await shop?.close();
});

const open = (path: string) => openPage(page, cabinet, path);
const goTo = (name: string) => page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name }).click();

describe('a page that cannot be loaded', () => {
  const asset = '**/assets/devices-*';

  it('keeps the navigation, and is loaded again once the network is back', async () => {
    await open('/overview');
    let isAway = true;
    await page.route('**/*', (route) => (isAway ? route.abort('internetdisconnected') : route.continue()));
    await goTo('Devices');
    await heading(page, 'This page could not be loaded');
    expect(await page.getByRole('navigation', { name: 'Pages' }).isVisible()).toBe(true);
    expect(await seriousFindings(page)).toEqual([]);
    isAway = false;
    await heading(page, 'Devices');
    expect(new URL(page.url()).pathname).toBe('/tillgate/cabinet/devices');
    await page.unroute('**/*');
  });

  it('reloads once after a new build, and not again while the file is missing', async () => {
    await page.evaluate('sessionStorage.clear()');
    await open('/overview');
    let loads = 0;
    page.on('load', () => {
      loads += 1;
    });
    await page.route(asset, (route) => route.fulfill({ status: 404, body: '' }));
    await goTo('Devices');
    await heading(page, 'This page could not be loaded');
    await expect.poll(() => loads, { timeout: 10_000 }).toBe(1);
    await heading(page, 'This page could not be loaded');
    // Longer than the interval of the next probe.
    await page.waitForTimeout(2_500);
    expect(loads).toBe(1);
    // The other pages work.
    await goTo('Keys');
    await heading(page, 'Keys');
    await page.unroute(asset);
    await goTo('Devices');
    await page.getByRole('button', { name: 'Reload page' }).click();
    await heading(page, 'Devices');
  });
});

describe('an empty sandbox', () => {
  it('shows three first steps on the Overview, and does not claim that all is well', async () => {
    await open('/overview');
    const steps = page.getByRole('region', { name: 'First steps' });
    await steps.waitFor();
    expect(await steps.getByRole('listitem').count()).toBe(3);
    expect(await page.getByText('No sales yet.').isVisible()).toBe(true);
    expect(await page.getByText(/everything is|all is well/i).count()).toBe(0);
    expect(await seriousFindings(page)).toEqual([]);
  });

  it('has its only merchant preselected in every form', async () => {
    await open('/keys');
    await page.getByRole('button', { name: 'Create key' }).first().click();
    const field = page.getByRole('dialog').getByLabel('Merchant');
    await expect.poll(() => field.inputValue()).not.toBe('');
    await page.keyboard.press('Escape');
  });
});

describe('a payment left open', () => {
  it('is sent from Developers, which links to it', async () => {
    await open('/overview');
    await page.getByRole('link', { name: 'Open Developers' }).click();
    await page.getByRole('button', { name: 'Send call' }).click();
    await page.getByRole('button', { name: 'Close document' }).waitFor();
    await page.getByRole('link', { name: 'Open this payment' }).click();
    await heading(page, /charged/i);
    expect(page.url()).toContain('/payments/');
  });

  it('prevents the start of a story, which gives the reason and reports no difference of the books', async () => {
    await open('/playground');
    await page.getByRole('button', { name: 'Play story' }).click();
    const outcome = page.getByRole('region', { name: 'What the ERP had to do' });
    await outcome.getByText(/did not start.*waits for CloseDoc/).waitFor();
    expect(await page.getByText('The four books do not agree').count()).toBe(0);
    expect(await seriousFindings(page)).toEqual([]);
  });

  it('is closed from the Playground, and the story then succeeds', async () => {
    await page.getByRole('button', { name: 'Close document' }).click();
    await page.getByText('It takes no new payment until then.').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Replay story' }).click();
    await page.getByRole('region', { name: 'What the ERP had to do' }).getByText('Nothing.', { exact: true }).waitFor({ timeout: 60_000 });
  }, 90_000);

  it('is closed from Developers as well', async () => {
    await open('/developers?call=pay');
    await page.getByRole('button', { name: 'Send call' }).click();
    await page.getByRole('button', { name: 'Close document' }).click();
    await page.getByText('The document is closed; the terminal is free.').waitFor();
    // The Overview has a sale now.
    await open('/overview');
    await page.getByText('Money today').waitFor();
    expect(await page.getByRole('region', { name: 'First steps' }).count()).toBe(0);
  });
});
