// Roles in a real browser: the sessions of a merchant and a viewer, and secrets that are shown once: a key, a pairing code, a TOTP secret.
import { readFileSync } from 'node:fs';
import jsQR from 'jsqr';
import type { Browser, Page } from 'playwright-core';
import { PNG } from 'pngjs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { heading, launchChromium, newPerson, open, seriousFindings, signIn, watch } from './support/chromium.ts';
import { closed, openServedCabinet, paid, type ServedCabinet, type Shop } from './support/served-cabinet.ts';

let served: ServedCabinet;
let [own, foreign]: Shop[] = [];
let browser: Browser;
let ownSale: Awaited<ReturnType<typeof paid>>;
let foreignSale: Awaited<ReturnType<typeof paid>>;

beforeAll(async () => {
  served = await openServedCabinet();
  own = await served.openShop('Alpha');
  foreign = await served.openShop('Beta');
  ownSale = await paid(own, 120);
  await closed(own, ownSale);
  foreignSale = await paid(foreign, 240);
  browser = await launchChromium();
}, 120_000);
afterAll(async () => {
  await browser?.close();
  await served?.close();
});

async function pageOf(name: string, role: string, standing: { merchantId?: string } = {}): Promise<Page> {
  const page = await (await newPerson(browser)).newPage();
  await signIn(page, served.cabinet, await served.invite({ name, role, ...standing }));
  return page;
}

/** The export of the decoder differs between module systems. */
const decode = ((jsQR as unknown as { default?: typeof jsQR }).default ?? jsQR) as unknown as (
  data: Uint8ClampedArray,
  width: number,
  height: number,
) => { data: string } | null;

/** The content of a QR on the page, decoded from a screenshot. */
async function readQr(page: Page, name: string | RegExp): Promise<string> {
  const picture = PNG.sync.read(await page.getByRole('img', { name }).screenshot());
  return decode(new Uint8ClampedArray(picture.data), picture.width, picture.height)?.data ?? '';
}

describe('a merchant', () => {
  let page: Page;
  beforeAll(async () => {
    page = await pageOf('Maria Merchant', 'merchant', { merchantId: own?.merchantId ?? '' });
  });

  it('sees its own sales only, even by id', async () => {
    await open(page, served.cabinet, '/payments');
    await page.getByRole('cell', { name: '120.00' }).waitFor();
    expect(await page.getByRole('cell', { name: '240.00' }).count()).toBe(0);
    expect(await page.getByText('Beta').count()).toBe(0);
    await page.goto(`${served.cabinet}${foreignSale.path}`);
    await page.getByRole('heading', { name: 'Not found' }).or(page.getByRole('alert')).first().waitFor();
    expect(await page.getByText('240.00').count()).toBe(0);
  });

  it('exports the rows of the list, and nothing of another merchant', async () => {
    await open(page, served.cabinet, '/payments');
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Export CSV' }).click()]);
    const text = readFileSync((await download.path()) ?? '', 'utf8');
    expect(text).toContain(ownSale.documentNr);
    expect(text).not.toContain(foreignSale.documentNr);
  });

  it('creates a key that is shown once', async () => {
    await open(page, served.cabinet, '/keys');
    await page.getByRole('button', { name: 'Create key' }).click();
    await page.getByRole('dialog').getByLabel('Name').fill('Second till');
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /make|create/i })
      .click();
    const shown = page.getByRole('dialog').locator('code');
    const key = (await shown.textContent()) ?? '';
    expect(key.length).toBeGreaterThan(20);
    expect(await seriousFindings(page)).toEqual([]);
    await page.getByRole('dialog').locator('.dialog-foot button').last().click();
    await page.reload();
    await page.getByText('Second till').waitFor();
    expect(await page.getByText(key).count()).toBe(0);
  });

  it('pairs a device by a code and its QR', async () => {
    await open(page, served.cabinet, '/devices');
    await page.getByRole('button', { name: 'Register device' }).click();
    await page.getByRole('dialog').getByLabel('Name').fill('Till two');
    await page.getByRole('dialog').getByRole('button', { name: 'Register device' }).click();
    const code = (await page.getByRole('dialog').locator('.pairing b').textContent()) ?? '';
    const said = await readQr(page, /QR|scan|code/i);
    expect(code.replace(/\W/g, '')).not.toBe('');
    expect(said.replace(/\W/g, '')).toContain(code.replace(/\W/g, ''));
  });
});

describe('a viewer', () => {
  it('reads, and has no button that changes anything', async () => {
    const page = await pageOf('Victor Viewer', 'viewer', { merchantId: own?.merchantId ?? '' });
    await open(page, served.cabinet, ownSale.path);
    await page.getByText('You have read access').waitFor();
    for (const name of ['Refund…', 'Void…', 'Ask the device again']) expect(await page.getByRole('button', { name }).count()).toBe(0);
    expect(await page.getByRole('link', { name: 'Gateways' }).count()).toBe(0);
    await page.goto(`${served.cabinet}/instances`);
    await page.getByRole('alert').waitFor();
    expect(await page.getByRole('table').count()).toBe(0);
  });
});

describe('the own account', () => {
  it('sets up one-time codes by a QR that an app can read, with the secret as text', async () => {
    const page = await pageOf('Tudor Totp', 'operator');
    const { complaints } = watch(page);
    await open(page, served.cabinet, '/account');
    await page.getByRole('button', { name: 'Set up codes' }).click();
    const address = new URL((await page.getByRole('link', { name: 'Open in an app on this device' }).getAttribute('href')) ?? '');
    expect(address.protocol).toBe('otpauth:');
    expect(await readQr(page, 'QR for the authenticator app')).toBe(address.href);
    const text = await page.locator('.code-box').innerText();
    expect(text.replace(/\s/g, '')).toBe(address.searchParams.get('secret'));
    expect(await seriousFindings(page)).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it('keeps its language in this browser', async () => {
    const page = await pageOf('Lidia Language', 'operator');
    await page.getByRole('button', { name: /^Language/ }).click();
    await page.getByRole('menuitem', { name: 'Русский' }).click();
    await heading(page, 'Обзор');
    await page.reload();
    await heading(page, 'Обзор');
  });
});
