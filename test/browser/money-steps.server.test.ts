// Money steps in a real browser: each states its consequence first, moves the money once however it is clicked, asks for the
// password again after fifteen minutes, and records the person's name in the timeline.
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/till.ts';
import { heading, launchChromium, newPerson, open, seriousFindings, signIn } from './support/chromium.ts';
import { closed, openServedCabinet, paid, type ServedCabinet, type Shop } from './support/served-cabinet.ts';

let served: ServedCabinet;
let shop: Shop;
let other: Shop;
let browser: Browser;
let page: Page;
let asked: Awaited<ReturnType<typeof paid>>;
let decided: { id: string; documentNr: string };
let who: { email: string; password: string };

beforeAll(async () => {
  served = await openServedCabinet();
  shop = await served.openShop('Alpha');
  other = await served.openShop('Beta');
  who = await served.invite({ name: 'Olga Operator', role: 'operator' });
  browser = await launchChromium();
  page = await (await newPerson(browser)).newPage();
  await signIn(page, served.cabinet, who);
}, 120_000);
afterAll(async () => {
  await browser?.close();
  await served?.close();
});

const dialog = () => page.getByRole('dialog');
const focused = () => page.evaluate('document.activeElement.textContent');
const step = (name: string) => page.getByRole('button', { name });

async function openStep(path: string, name: string, consequence: string): Promise<void> {
  await open(page, served.cabinet, path);
  await step(name).click();
  await dialog().getByText(consequence).waitFor();
}

describe('a refund', () => {
  it('is limited to the remaining amount, and two clicks are one refund in the ledger', async () => {
    const sale = await paid(shop, 150);
    await closed(shop, sale);
    await openStep(sale.path, 'Refund…', 'gives money back to the card');
    await dialog().getByLabel('Amount, MDL').fill('150.01');
    expect(await dialog().getByRole('button', { name: 'Refund' }).isDisabled()).toBe(true);
    await dialog().getByLabel('Amount, MDL').fill('40');
    expect(await seriousFindings(page)).toEqual([]);
    const keys: (string | undefined)[] = [];
    page.on('request', (request) => {
      if (request.url().endsWith('/refund')) keys.push(request.headers()['idempotency-key']);
    });
    await dialog().getByRole('button', { name: 'Refund 40.00 MDL' }).dblclick();
    await heading(page, /40\.00/);
    const refunds = (await served.commandsOf(sale.documentNr)).filter(({ name }) => name === 'Refund');
    expect(refunds.map(({ state, amount_bani }) => [state, amount_bani])).toEqual([['done', 4_000]]);
    expect(new Set(keys).size).toBe(1);
    expect(keys[0]).toMatch(/^cabinet-[0-9a-f]{32}$/);
    await page.getByText('up to 110.00 MDL').waitFor();
    expect(await page.getByRole('list').filter({ hasText: 'Refund' }).getByText('Olga Operator').count()).toBeGreaterThan(0);
  });

  it('whose answer was lost is sent again under the same key, and is executed once', async () => {
    const sale = await paid(shop, 60);
    await closed(shop, sale);
    await openStep(sale.path, 'Refund…', 'gives money back to the card');
    // A partial amount, so that a second refund would be possible.
    await dialog().getByLabel('Amount, MDL').fill('20');
    let isFirst = true;
    await page.route('**/refund', async (route) => {
      if (!isFirst) return route.continue();
      isFirst = false;
      await route.fetch();
      return route.abort('connectionreset');
    });
    await dialog().getByRole('button', { name: 'Refund 20.00 MDL' }).click();
    await dialog().getByRole('alert').waitFor();
    await dialog().getByRole('button', { name: 'Refund 20.00 MDL' }).click();
    await heading(page, /20\.00 MDL were refunded, 40\.00 MDL are left/);
    await page.unroute('**/refund');
    const refunds = (await served.commandsOf(sale.documentNr)).filter(({ name }) => name === 'Refund');
    expect(refunds.map(({ state }) => state)).toEqual(['done']);
  });
});

describe('the other steps', () => {
  it('void cancels the whole payment', async () => {
    const sale = await paid(shop, 75);
    await openStep(sale.path, 'Void…', 'Cancels the whole payment');
    await dialog().getByRole('button', { name: 'Void payment' }).click();
    await heading(page, /void|taken back/i);
    const rows = await served.commandsOf(sale.documentNr);
    expect(rows.map(({ name, state }) => `${name} ${state}`)).toEqual(['Pay done', 'CancelTransaction done']);
  });

  it('close frees the terminal', async () => {
    const sale = await paid(shop, 80);
    await openStep(sale.path, 'Close document', 'No money moves.');
    await dialog().getByRole('button', { name: 'Close document' }).click();
    await page.getByText('Nothing to do.').waitFor();
    asked = await paid(shop, 81);
    expect(asked.answer.errorCode).toBe(0);
  });

  it('ask reads the journal and shows the result, and the timeline names the person', async () => {
    await openStep(asked.path, 'Ask the device again', 'starts nothing');
    await dialog().getByRole('button', { name: 'Ask device' }).click();
    await dialog().getByText('The device answered. The operation is settled: it was executed.').waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await page.getByRole('listitem').filter({ hasText: 'Olga Operator' }).first().waitFor();
    expect(await focused()).toBe('Ask the device again');
  });

  it('close of the bank day links to the open document that refuses it, and then shows a report, not JSON', async () => {
    const run = async () => {
      await open(page, served.cabinet, '/day-close');
      await page.getByRole('button', { name: 'Run X, Z or bank-day close' }).click();
      await page.getByRole('menuitem', { name: /bank day/i }).click();
      await dialog().getByRole('button', { name: 'Close the bank day' }).click();
    };
    await run();
    await dialog().getByRole('alert').waitFor();
    expect(await focused()).toBe('Close the bank day');
    await dialog()
      .getByRole('link', { name: /^Card payment/ })
      .click();
    await page.waitForURL(/\/payments\//);
    expect(page.url().endsWith(asked.path)).toBe(true);
    await closed(shop, asked);
    await run();
    await dialog().getByText('Refunds').waitFor();
    expect(await dialog().locator('.device-report dt').allTextContents()).toEqual(['Time', 'Payments', 'Amount', 'Sales', 'Refunds']);
    expect(await dialog().innerText()).not.toContain('{');
    await page.getByText('no Z report of this period').waitFor();
    await page.getByText('The ledger agrees with this close').waitFor();
    expect(await seriousFindings(page)).toEqual([]);
  });

  it('decide needs an outcome and a reason, which are stored with the name', async () => {
    // The customer is slow, the terminal goes offline, and its five minutes pass: only a person can decide.
    const documentNr = crypto.randomUUID();
    void shop.till.tryPost('/Device/payment/Pay', { DeviceID: shop.terminal, amount: 90.64, documentNr });
    const isSent = async () => (await served.admin('/commands?mode=cards&minAmount=90.64&maxAmount=90.64'))['commands'] as { id: string }[];
    const [{ id } = { id: '' }] = await eventually('the command is sent', isSent, ({ length }) => length === 1);
    const told = async () => JSON.stringify(await served.admin(`/commands/${id}`));
    await eventually('the terminal is at it', told, (sale) => sale.includes('"accepted"'));
    shop.device.setFaults({ mqtt: false, queue: false });
    served.clock.leapTo(served.clock.now() + 11 * 60_000);
    await openStep(`/payments/${id}`, 'Decide with a reason…', 'Settles the outcome as you choose');
    const decide = dialog().getByRole('button', { name: 'Save decision' });
    expect(await decide.isDisabled()).toBe(true);
    await dialog().getByLabel('It did not happen').check();
    expect(await decide.isDisabled()).toBe(true);
    await dialog().getByLabel('Reason').fill('The bank knows of no charge');
    await decide.click();
    await dialog().waitFor({ state: 'detached' });
    await page.getByRole('listitem').filter({ hasText: 'Olga Operator' }).first().waitFor();
    expect((await served.commandsOf(documentNr)).map(({ name, state }) => `${name} ${state}`)).toEqual(['Pay refused']);
    await open(page, served.cabinet, `/audit?q=${id}`);
    await page.getByText('state: it was not executed').waitFor();
    shop.device.setFaults({ mqtt: true, queue: true });
    decided = { id, documentNr };
  });

  it('a decision contradicted by the terminal is in Attention until an operator has resolved it', async () => {
    await open(page, served.cabinet, '/attention');
    const entry = page.getByText('was settled as "refused"').first();
    await entry.waitFor();
    await openStep(`/payments/${decided.id}`, 'Decide with a reason…', 'settles it as you choose, with all effects');
    expect(await seriousFindings(page)).toEqual([]);
    await dialog().getByLabel('It was executed').check();
    await dialog().getByLabel('Reason').fill('The bank has charged it');
    await dialog().getByRole('button', { name: 'Resolve dispute' }).click();
    await dialog().waitFor({ state: 'detached' });
    await page.getByText('resolved it').first().waitFor();
    const Pay = { DeviceID: shop.terminal, amount: 90.64, documentNr: decided.documentNr };
    // Decided without the bank's number, which ends the document [D308].
    expect(await shop.till.post('/Device/payment/Pay', Pay)).toMatchObject({ errorCode: 22, State: 'Closed' });
    await open(page, served.cabinet, '/attention');
    await page.getByText('Nothing needs attention').waitFor();
    expect(await entry.count()).toBe(0);
  });

  it('cancel ends an unpaid invoice', async () => {
    const { OID } = await shop.till.post('/Invoice/Create', {
      CallbackURI: 'http://127.0.0.1:9/erp?oid=#OID#',
      Receipt: { Number: 'C-1', Items: [{ Name: 'Tea', Quantity: 1, Price: 30 }] },
    });
    await openStep(`/invoices/${String(OID)}`, 'Cancel invoice…', 'Nobody can scan or pay it any more.');
    await dialog().getByRole('button', { name: 'Cancel invoice' }).click();
    await heading(page, /cancel/i);
  });
});

describe('after fifteen minutes', () => {
  it('a money step asks for the password, then continues; a wrong password does nothing', async () => {
    const sale = await paid(other, 50);
    served.clock.leapTo(served.clock.now() + 111 * 60_000);
    await openStep(sale.path, 'Void…', 'Cancels the whole payment');
    await dialog().getByRole('button', { name: 'Void payment' }).click();
    const ask = page.getByRole('dialog', { name: 'Is it still you?' });
    await ask.getByLabel('Password').fill('not the password at all');
    await ask.getByRole('button', { name: 'That was me' }).click();
    await ask.getByText('The password is wrong.').waitFor();
    expect((await served.commandsOf(sale.documentNr)).map(({ name }) => name)).toEqual(['Pay']);
    await ask.getByLabel('Password').fill(who.password);
    await ask.getByRole('button', { name: 'That was me' }).click();
    await heading(page, /void|taken back/i);
    expect((await served.commandsOf(sale.documentNr)).map(({ name, state }) => `${name} ${state}`)).toEqual([
      'Pay done',
      'CancelTransaction done',
    ]);
  });
});
