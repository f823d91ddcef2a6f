// Live updates: new rows are shown on request, tabs share one event stream, and a lost gateway is reported and recovered from.
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/till.ts';
import { launchChromium, newPerson, open, signIn } from './support/chromium.ts';
import { openServedCabinet, type ServedCabinet, type Shop } from './support/served-cabinet.ts';

let served: ServedCabinet;
let shop: Shop;
let browser: Browser;
let person: BrowserContext;
let page: Page;

beforeAll(async () => {
  served = await openServedCabinet();
  shop = await served.openShop('Alpha');
  const who = await served.invite({ name: 'Olga Operator', role: 'operator' });
  browser = await launchChromium();
  person = await newPerson(browser);
  page = await person.newPage();
  await createInvoice(1);
  await signIn(page, served.cabinet, who);
}, 120_000);
afterAll(async () => {
  await browser?.close();
  await served?.close();
});

async function createInvoice(price: number): Promise<void> {
  const answer = await shop.till.post('/Invoice/Create', {
    CallbackURI: 'http://127.0.0.1:9/erp?oid=#OID#',
    Receipt: { Number: `L-${price}`, Items: [{ Name: 'Tea', Quantity: 1, Price: price }] },
  });
  expect(answer.errorCode).toBe(0);
}

const rows = (of: Page) => of.getByRole('table', { name: 'Invoices' }).locator('tbody tr');

describe('a live list', () => {
  it('announces "3 new" without moving rows, and shows them on click', async () => {
    await open(page, served.cabinet, '/invoices');
    await rows(page).first().waitFor();
    const before = await rows(page).first().boundingBox();
    for (const price of [2, 3, 4]) await createInvoice(price);
    const pill = page.getByRole('button', { name: '3 new' });
    await pill.waitFor();
    expect(await rows(page).count()).toBe(1);
    expect(await rows(page).first().boundingBox()).toEqual(before);
    await pill.click();
    expect(await rows(page).count()).toBe(4);
    await pill.waitFor({ state: 'detached' });
  });
});

describe('two tabs', () => {
  it('share one stream, and when its tab closes the other takes over', async () => {
    const other = await person.newPage();
    await open(other, served.cabinet, '/invoices');
    await rows(other).first().waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    await other.getByText('Live', { exact: true }).waitFor();
    expect(served.front.streams()).toBe(1);
    await createInvoice(5);
    for (const tab of [page, other]) await tab.getByRole('button', { name: '1 new' }).waitFor();
    await page.close();
    await createInvoice(6);
    await other.getByRole('button', { name: '2 new' }).waitFor();
    await eventually(
      'one stream is open',
      () => served.front.streams(),
      (count) => count === 1,
    );
    page = other;
  });
});

describe('a lost connection', () => {
  it('is reported, and recovers without a reload, with the missed events', async () => {
    const lost = page.getByText('The connection to the gateway is lost.');
    const shown = await rows(page).count();
    await served.stopGateway();
    await lost.waitFor();
    expect(await rows(page).count()).toBe(shown);
    await served.startGateway();
    await createInvoice(7);
    await lost.waitFor({ state: 'detached', timeout: 20_000 });
    await page.getByRole('button', { name: '3 new' }).waitFor();
  }, 40_000);
});
