// Daily work in a real browser: sales in the list, a sale found by its card or document, and printing.
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openSandboxShop, type SandboxShop } from '../e2e/sandbox-shop.ts';
import { heading, launchChromium, newPerson, open as openPage, seriousFindings } from './support/chromium.ts';

let shop: SandboxShop;
let browser: Browser;
let page: Page;
let cabinet: string;
let paid: { id: string; documentNr: string; authCode: string; card: string };
let oid = '';

beforeAll(async () => {
  shop = await openSandboxShop();
  cabinet = `${shop.sandbox.baseUrl}/cabinet`;
  const [DeviceID = ''] = shop.terminals;
  const [registerId = ''] = shop.registers;
  const documentNr = crypto.randomUUID();
  const answer = await shop.till.post('/Device/payment/Pay', { DeviceID, amount: 218.4, documentNr });
  const report = JSON.parse(answer.report ?? '{}') as { operationId: string; rrn: string; authCode: string; maskedCard: string };
  paid = { id: String(answer['OID']), documentNr, authCode: report.authCode, card: report.maskedCard.slice(-4) };
  await shop.till.post('/Device/payment/CloseDoc', { DeviceID, documentNr, operationId: report.operationId });
  await shop.till.post('/Device/Invoice/Pay', {
    DeviceID: registerId,
    Receipt: { Number: 'R-0001', Uid: documentNr, Items: [{ Name: 'Miere', Quantity: 1, Price: 218.4 }], Payments: [{ PaymentCode: 3 }] },
  });
  const invoice = await shop.till.post('/Invoice/Create', {
    CallbackURI: 'http://127.0.0.1:9/erp?oid=#OID#&state=#State#',
    Receipt: { Number: 'INV-77', Items: [{ Name: 'Tea', Quantity: 1, Price: 30 }] },
  });
  oid = String(invoice['OID']);
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
const printed = () => page.evaluate('window.printed');

async function catchPrinting(): Promise<void> {
  await page.evaluate("window.print = () => { window.printed = document.querySelector('.print-sheet')?.textContent }");
}

describe('Payments', () => {
  it('lists a sale once, with its receipt and the ERP, and shows the totals of the list', async () => {
    await open('/payments');
    const row = page.getByRole('row').filter({ hasText: '218.40' });
    await row.getByText('printed').waitFor();
    expect(await row.getByText('notified').isVisible()).toBe(true);
    expect(await page.getByRole('row').count()).toBe(2);
    await page.getByText('1 in the list, 1 done, 218.40 MDL.').waitFor();
    expect(await seriousFindings(page)).toEqual([]);
  });

  it('filters by several states, and saves the view under a name', async () => {
    await page.getByRole('button', { name: 'State', exact: true }).click();
    await page.getByRole('button', { name: 'Declined', exact: true }).click();
    await page.getByRole('button', { name: 'Not executed', exact: true }).click();
    await page.keyboard.press('Escape');
    await page.getByText('Nothing matches').waitFor();
    expect(new URL(page.url()).searchParams.get('state')).toBe('declined,never');
    await page.getByRole('button', { name: 'Views' }).click();
    await page.getByLabel('Name of this view').fill('Failed');
    await page.getByRole('button', { name: 'Save view' }).click();
    await open('/payments');
    await page.getByRole('button', { name: 'Views' }).click();
    await page.getByRole('button', { name: 'Failed', exact: true }).click();
    await page.getByText('Nothing matches').waitFor();
  });
});

describe('the search box', () => {
  const box = () => page.getByRole('combobox', { name: /Find a document/ });

  it('finds a sale by the last digits of its card and by the start of its document', async () => {
    await open('/overview');
    for (const text of [paid.card, paid.documentNr.slice(0, 5), paid.authCode.slice(0, 4)]) {
      await expect
        .poll(
          async () => {
            await box().fill('');
            await box().fill(text);
            await page.waitForTimeout(600);
            return page.getByRole('option').filter({ hasText: '218.40 MDL' }).count();
          },
          { timeout: 40_000, message: text },
        )
        .toBeGreaterThan(0);
    }
    await page.getByRole('option', { name: 'Show all results' }).click();
    await heading(page, 'Payments');
    await page.getByRole('row').filter({ hasText: '218.40' }).waitFor();
  }, 120_000);

  it('opens the typed id with Enter, even before its results have arrived', async () => {
    await open('/overview');
    await box().fill(paid.documentNr.slice(0, 5));
    await page.getByRole('option').filter({ hasText: '218.40 MDL' }).first().waitFor();
    await page.route('**/cabinet/api/search?*', async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 700));
      await route.continue();
    });
    await box().fill(oid);
    await box().press('Enter');
    await page.waitForURL(/\/(invoices|payments)\//);
    expect(page.url()).toContain(`/invoices/${oid}`);
    await page.unroute('**/cabinet/api/search?*');
  });

  it('opens the list with the results: receipts are fiscal operations', async () => {
    await box().fill('R-0001');
    await page.getByRole('option').filter({ hasText: 'Fiscal receipt' }).first().waitFor();
    await page.getByRole('option', { name: 'Show all results' }).click();
    await heading(page, 'Fiscal operations');
    await page.getByRole('row').filter({ hasText: '218.40' }).waitFor();
  });

  it('opens pages and actions with Ctrl+K', async () => {
    await page.keyboard.press('Control+k');
    await page.keyboard.type('create k');
    await page.getByRole('option', { name: 'Create key' }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    expect(page.url()).toContain('/keys');
    // Also if the page is already open.
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.keyboard.press('Control+k');
    await page.keyboard.type('create key');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
  });
});

describe('a sale', () => {
  it('shows its bank by name, starts at the top, and shows how much can be refunded', async () => {
    await open('/payments');
    await page.evaluate('window.scrollTo(0, 400)');
    await page.getByRole('row').filter({ hasText: '218.40' }).click();
    await heading(page, /charged/i);
    expect(await page.evaluate('window.scrollY')).toBe(0);
    await page.getByRole('button', { name: 'Refund…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Amount, MDL').fill('500');
    await dialog.getByText('Only 218.40 MDL are left to refund.').waitFor();
    expect(await dialog.textContent()).not.toContain('{{');
    await page.keyboard.press('Escape');
  });

  it('prints its receipt, and an invoice prints its QR', async () => {
    await open(`/payments/${paid.id}`);
    await catchPrinting();
    await page.getByRole('button', { name: 'Print receipt' }).click();
    await expect.poll(printed).toContain('Miere');
    await open(`/invoices/${oid}`);
    await catchPrinting();
    await page.getByRole('button', { name: 'Print invoice' }).click();
    await expect.poll(printed).toContain('30.00 MDL');
    expect(await page.getByRole('link', { name: 'Download QR' }).getAttribute('download')).toBe(`invoice-${oid}.svg`);
    expect(await seriousFindings(page)).toEqual([]);
  });
});

describe('Devices', () => {
  it('reads a status at once, without a confirmation', async () => {
    await open('/devices');
    await page.getByRole('button', { name: 'Status', exact: true }).first().click();
    await page.getByRole('dialog').getByText('It answered').or(page.getByRole('dialog').locator('pre')).first().waitFor();
  });
});
