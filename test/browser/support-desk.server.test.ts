// Support work in a real browser: an unreachable ERP, a terminal that is switched off, a long history, the audit log; as
// operator, as merchant and as viewer.
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openSandboxShop, type SandboxShop } from '../e2e/sandbox-shop.ts';
import { byDayOrNight } from '../support/at-length.ts';
import { follow, heading, launchChromium, newPerson, open as openPage, seriousFindings } from './support/chromium.ts';
import { invitedBy, type Login } from './support/invited.ts';

const deaf = 'http://127.0.0.1:9/erp?oid=#OID#&state=#State#';
let shop: SandboxShop;
let browser: Browser;
let operator: Page;
let [merchant, viewer]: Page[] = [];
let cabinet: string;
let merchantName = '';
let [deadOid, paymentId, openId, earlierId]: string[] = [];

beforeAll(async () => {
  shop = await openSandboxShop({ TILLGATE_CALLBACK_DELAYS_S: '1' });
  const { baseUrl, file } = shop.sandbox;
  cabinet = `${baseUrl}/cabinet`;
  const [first = '', second = ''] = shop.terminals;
  const Receipt = { Number: 'INV-1', Items: [{ Name: 'Tea', Quantity: 1, Price: 58.5 }] };
  const invoice = await shop.till.post('/Invoice/Create', { CallbackURI: deaf, Receipt });
  deadOid = String(invoice['OID']);
  await shop.till.get('/Invoice/Get', { QR: String(invoice['QR']) });
  await shop.till.get('/Invoice/Payd', { QR: String(invoice['QR']), ReceiptID: 'R-1', DeviceID: first });
  paymentId = await paidAndClosed(first, 75);
  earlierId = await paidAndClosed(second, 63);
  openId = String((await shop.till.post('/Device/payment/Pay', { DeviceID: second, amount: 64 }))['OID']);
  browser = await launchChromium();
  operator = await (await newPerson(browser)).newPage();
  await operator.goto(cabinet);
  await operator.getByRole('button', { name: 'Enter the sandbox', exact: true }).click();
  await heading(operator, 'Overview');
  const { merchants } = (await (
    await fetch(`${cabinet}/api/merchants`, { headers: { authorization: `Bearer ${file.adminToken}` } })
  ).json()) as { merchants: { id: string; name: string }[] };
  const merchantId = merchants[0]?.id ?? '';
  merchantName = merchants[0]?.name ?? '';
  for (const role of ['merchant', 'viewer'] as const) {
    const page = await (await newPerson(browser)).newPage();
    await enter(page, await invitedBy(baseUrl, shop.till.admin, { name: `Some ${role}`, role, merchantId }));
    if (role === 'merchant') merchant = page;
    else viewer = page;
  }
}, 180_000);
afterAll(async () => {
  await browser?.close();
  await shop?.close();
});

async function paidAndClosed(DeviceID: string, amount: number): Promise<string> {
  const documentNr = crypto.randomUUID();
  const paid = await shop.till.post('/Device/payment/Pay', { DeviceID, amount, documentNr });
  const { operationId } = JSON.parse(paid.report ?? '{}') as { operationId: string };
  await shop.till.post('/Device/payment/CloseDoc', { DeviceID, documentNr, operationId });
  return String(paid['OID']);
}

/** Signs in by the API, because the page of a sandbox has no password field. */
async function enter(page: Page, login: Login): Promise<void> {
  await page.goto(cabinet);
  const request = {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-tillgate-request': '1' },
    body: JSON.stringify(login),
  };
  await page.evaluate(`fetch('${cabinet}/api/session', ${JSON.stringify(request)})`);
  await openPage(page, cabinet, '/overview');
  await heading(page, 'Overview');
}

const people = () => [operator, merchant, viewer].filter((page) => page !== undefined);
const open = (page: Page, path: string) => openPage(page, cabinet, path);

describe('an invoice with dead callbacks', () => {
  it('labels the attempts of each callback, and gives an advice, to every user', async () => {
    for (const page of people()) {
      await expect
        .poll(
          async () => {
            await open(page, `/invoices/${deadOid}`);
            return page.getByText('The ERP has not been notified.').count();
          },
          { timeout: 30_000, interval: 1_000 },
        )
        .toBe(1);
      const timeline = page.locator('.timeline');
      await timeline.getByText('Payed').first().waitFor();
      await timeline.getByText('Scanned').first().waitFor();
      // Other people see the same with fewer buttons.
      if (page === operator) expect(await seriousFindings(page)).toEqual([]);
    }
  }, 90_000);

  it('has its callback resent by operator and merchant, but not by a viewer', async () => {
    for (const page of [operator, merchant]) {
      await page?.getByRole('button', { name: 'Resend callback' }).first().waitFor();
    }
    expect(await viewer?.getByRole('button', { name: 'Resend callback' }).count()).toBe(0);
    await merchant?.getByRole('button', { name: 'Resend callback' }).last().click();
    const dialog = merchant?.getByRole('dialog');
    await dialog?.getByText('It keeps its webhook-id').waitFor();
    await dialog?.getByRole('button', { name: 'Resend callback' }).click();
    await dialog?.waitFor({ state: 'hidden' });
  });
});

describe('Callbacks', () => {
  it('show state, last response and duration', async () => {
    for (const page of people()) {
      await open(page, '/callbacks');
      const row = page.getByRole('row').filter({ hasText: '127.0.0.1' }).first();
      await row.waitFor();
      expect(await row.textContent()).toMatch(/ECONNREFUSED.*\d+\sms/);
      if (page === operator) expect(await seriousFindings(page)).toEqual([]);
    }
  });
});

describe('Attention', () => {
  it('shows how long each item waits, and its whole row links to the sale', async () => {
    await expect
      .poll(
        async () => {
          await open(operator, '/attention');
          return operator.getByRole('article').count();
        },
        { timeout: 40_000, interval: 1_000 },
      )
      .toBeGreaterThan(0);
    const row = operator.getByRole('article').filter({ hasText: '58.50' });
    await row.getByText(/waits \d/).waitFor();
    await operator.getByText('settled today').waitFor();
    expect(await seriousFindings(operator)).toEqual([]);
    await row.getByText('What is not').click({ force: true });
    await heading(operator, /Paid/);
    expect(await operator.getByText('Nothing to do').count()).toBe(0);
  }, 60_000);

  it('has no button for a viewer', async () => {
    if (!viewer) throw new Error('There is no viewer.');
    await open(viewer, '/attention');
    await viewer.getByRole('article').first().waitFor();
    expect(await viewer.locator('article button').count()).toBe(0);
  });
});

describe('a terminal that is switched off during a payment', () => {
  it('leaves the payment unknown on its page, in the list and in Attention', async () => {
    const [, , third = ''] = shop.terminals;
    const own = `${cabinet}/api/playground/devices/${third}`;
    const headers = { authorization: `Bearer ${shop.sandbox.file.adminToken}`, 'content-type': 'application/json' };
    const play = (path: string, body: object) => fetch(`${own}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    await play('/mode', { byHand: true });
    void shop.till.post('/Device/payment/Pay', { DeviceID: third, amount: 91.25, documentNr: crypto.randomUUID() }).catch(() => undefined);
    await open(operator, '/payments');
    const row = operator.getByRole('row').filter({ hasText: '91.25' });
    await row.getByText('Waiting for card').or(row.getByText('Waiting')).first().waitFor();
    await play('/power', { isOn: false });
    await row.getByText('Not known yet').waitFor({ timeout: 30_000 });
    await row.click();
    await heading(operator, /Outcome not known/);
    await operator.getByText('Do not charge the customer a second time.').waitFor();
    await open(operator, '/attention');
    await operator.getByRole('article').filter({ hasText: '91.25' }).waitFor();
    await play('/power', { isOn: true });
    await play('/mode', { byHand: false });
  }, 90_000);
});

describe('the page of a sale', () => {
  it('links from a locked terminal to the operation that locks it', async () => {
    await open(operator, `/payments/${openId}`);
    await operator.getByText('takes no new payment until the document is closed').waitFor();
    expect(await operator.locator('.held-by').count()).toBe(0);
    for (const page of people()) {
      await open(page, `/payments/${earlierId}`);
      await page.getByText('takes no new operation until this one has ended').waitFor();
      await page.locator('.held-by').getByRole('link').click();
      await page.getByText('64.00').first().waitFor();
      expect(page.url()).toContain(`/payments/${openId}`);
    }
    await open(operator, '/playground');
    await operator.getByRole('link', { name: 'Open payment' }).first().click();
    await heading(operator, /charged/i);
  });

  it('groups repeated steps, without overlapping labels', async () => {
    const page = operator;
    await open(page, `/payments/${paymentId}`);
    const ask = page.getByRole('button', { name: 'Ask the device again' }).first();
    for (let time = 0; time < 3; time += 1) {
      await ask.click();
      const dialog = page.getByRole('dialog');
      await dialog.getByRole('button', { name: 'Ask device' }).click();
      await dialog.getByText('The device answered.').waitFor();
      await dialog.getByRole('button', { name: 'Close' }).click();
      await dialog.waitFor({ state: 'hidden' });
    }
    await page.reload();
    await heading(page, /charged/i);
    const boxes = (await page.evaluate(
      "[...document.querySelectorAll('.timeline .tl-step .tl-words, .timeline .tl-gap')].map((e) => { const { top, bottom } = e.getBoundingClientRect(); return { top, bottom } }).filter(({ top, bottom }) => bottom > top)",
    )) as { top: number; bottom: number }[];
    const sorted = boxes.sort((one, other) => one.top - other.top);
    expect(sorted.length).toBeGreaterThan(6);
    expect(await page.locator('.timeline .tl-fold').count()).toBeGreaterThan(0);
    const overlaps = sorted.filter((box, index) => index > 0 && box.top < (sorted[index - 1]?.bottom ?? 0) - 1);
    expect(overlaps).toEqual([]);
  });
});

describe('the audit log', () => {
  const rows = () => operator.getByRole('row');
  const choose = async (filter: string, choice: string | RegExp) => {
    await operator
      .getByRole('button', { name: filter, exact: true })
      .or(operator.getByRole('button', { name: new RegExp(`^${filter} `) }))
      .click();
    await operator.getByRole('dialog').getByRole('button', { name: choice }).click();
  };
  const texts = async () => (await rows().allTextContents()).slice(1);

  it('is filtered by action, and links to the changed object', async () => {
    await open(operator, '/audit');
    await choose('Action', 'Asked the device again');
    const asked = rows().filter({ hasText: paymentId?.slice(0, 8) ?? '' });
    await expect.poll(() => rows().count()).toBe((await asked.count()) + 1);
    await asked.first().getByRole('link').click();
    await heading(operator, /charged/i);
  });

  it('is filtered by actor, by both together and by the id of an object', async () => {
    await open(operator, '/audit');
    await rows().nth(2).waitFor();
    const all = await rows().count();
    await choose('Who', /Some merchant/);
    await expect.poll(async () => (await texts()).every((text) => text.includes('Some merchant'))).toBe(true);
    const ofMerchant = await rows().count();
    expect(ofMerchant).toBeLessThan(all);
    // An action that no row of this page has can be selected, and both filters apply.
    await choose('Action', 'Resent a callback');
    await expect.poll(async () => (await texts()).every((text) => text.includes('Resent a callback'))).toBe(true);
    const [entry = ''] = await texts();
    expect(entry).toContain('Some merchant');
    await choose('Action', 'Asked the device again');
    await operator.getByText('Nothing matches').waitFor();
    await open(operator, `/audit?q=${paymentId}`);
    await expect.poll(async () => (await texts()).length).toBeGreaterThan(0);
    expect((await texts()).every((text) => text.includes(paymentId?.slice(0, 8) ?? '-'))).toBe(true);
    await operator.getByRole('searchbox', { name: 'Id of an object' }).fill('00000000-0000-4000-8000-000000000000');
    await operator.getByText('Nothing matches').waitFor();
    expect(await seriousFindings(operator)).toEqual([]);
  });
});

describe('every action', () => {
  const owners = ['operator', 'merchant'];
  const actions: [path: string, button: string | RegExp, who: string[]][] = [
    [`/payments/`, 'Refund…', owners],
    ['/attention', /^(Resend callback|Close document|Ask the device again)/, owners],
    ['/devices', 'Status', owners],
    ['/devices', 'Register device', owners],
    ['/devices', /^Actions for/, owners],
    ['/callbacks', 'Resend dead callbacks…', owners],
    ['/day-close', 'Run X, Z or bank-day close', owners],
    ['/keys', 'Create key', owners],
    ['/keys', /^Actions for/, owners],
    ['/merchants', 'Create merchant', ['operator']],
    ['/users', 'Invite user', owners],
    ['/users', /^Actions for/, owners],
    ['/playground', 'New sale', owners],
  ];

  // What an operator is offered, the tests of the pages use.
  it.each(byDayOrNight(['merchant', 'viewer'], ['operator', 'merchant', 'viewer']))(
    'is offered to a %s exactly if the role may use it',
    async (role) => {
      const page = { operator, merchant, viewer }[role];
      if (!page) throw new Error(`There is no ${role}.`);
      const wrong: string[] = [];
      await open(page, '/overview');
      for (const path of new Set(actions.map(([one]) => one))) {
        await follow(page, cabinet, path === '/payments/' ? `${path}${paymentId}` : path);
        for (const [, name, who] of actions.filter(([one]) => one === path)) {
          const button = page.getByRole('button', { name, disabled: false }).first();
          const isOffered = who.includes(role)
            ? await button.waitFor().then(
                () => true,
                () => false,
              )
            : (await button.count()) > 0;
          if (isOffered !== who.includes(role)) wrong.push(`${path} ${String(name)}`);
        }
      }
      // The actions offered by the search box.
      await page.getByRole('combobox').first().fill('create');
      const offered = await page.getByRole('option').allTextContents();
      expect(offered.filter((text) => text.startsWith('Create'))).toEqual(
        { operator: ['Create key', 'Create merchant'], merchant: ['Create key'], viewer: [] }[role],
      );
      await page.keyboard.press('Escape');
      expect(await page.getByRole('link', { name: 'Gateways' }).count()).toBe(role === 'operator' ? 1 : 0);
      expect(wrong).toEqual([]);
      // A URL opens no dialog that the role may not use, and merchants are shown by name.
      await follow(page, cabinet, '/merchants?new=1');
      await page.getByRole('row').nth(1).waitFor();
      expect(await page.getByRole('dialog').count()).toBe(role === 'operator' ? 1 : 0);
      await page.keyboard.press('Escape');
      await follow(page, cabinet, '/keys');
      await page.getByRole('row').nth(1).waitFor();
      expect(await page.getByRole('row').nth(1).textContent()).toContain(merchantName);
    },
    60_000,
  );
});
