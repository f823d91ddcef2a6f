// The API page of a sandbox in a real browser, on a screen and on a phone: its prefilled calls work, and schemas are expanded.
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exampleApiKey, exampleErp, exampleRegister, exampleTerminal } from '../../src/http/examples.ts';
import { openSandboxShop, type SandboxShop } from '../e2e/sandbox-shop.ts';
import { launchChromium, newPerson, type Watched, watch } from './support/chromium.ts';

let shop: SandboxShop;
let browser: Browser;
beforeAll(async () => {
  shop = await openSandboxShop();
  browser = await launchChromium();
}, 120_000);
afterAll(async () => {
  await browser?.close();
  await shop?.close();
});

/** The events of the page opened last, from its first request on. */
let watched: Watched;

async function openDocs(width: number): Promise<Page> {
  const page = await (await newPerson(browser)).newPage();
  watched = watch(page);
  await page.setViewportSize({ width, height: 844 });
  await page.goto(`${shop.sandbox.baseUrl}/docs`);
  return page;
}

/** Opens a call, executes it with the prefilled values, and returns the answer. */
async function tryIt(page: Page, id: string): Promise<Record<string, unknown>> {
  const call = page.locator(`#operations-${id}`);
  await call.locator('.opblock-summary').click();
  await call.locator('.try-out__btn').click();
  return execute(page, id);
}

async function execute(page: Page, id: string): Promise<Record<string, unknown>> {
  const [answer] = await Promise.all([
    page.waitForResponse((response) => response.request().resourceType() === 'fetch'),
    page.locator(`#operations-${id} .execute`).click(),
  ]);
  return (await answer.json()) as Record<string, unknown>;
}

describe('the API page', () => {
  it('on a phone tries calls of each mode with the key and the devices of the sandbox, and loads nothing from elsewhere', async () => {
    const page = await openDocs(390);
    expect(await tryIt(page, 'Terminal_status-deviceStatus')).toMatchObject({ errorCode: 0 });
    expect(await tryIt(page, 'QR_Mode-createInvoice')).toMatchObject({ errorCode: 0, QR: expect.any(String) });
    expect(await tryIt(page, 'Fiscal_Mode-cashIn')).toMatchObject({ errorCode: 0 });
    const paid = await tryIt(page, 'POS_Mode-pay');
    expect(paid).toMatchObject({ errorCode: 0 });
    expect(await execute(page, 'POS_Mode-pay'), 'the second time').toEqual(paid);
    await page.locator('#operations-POS_Mode-pay').getByText('Device_Busy').first().waitFor({ state: 'attached' });
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
    expect(watched.complaints).toEqual([]);
    expect([...watched.asked]).toEqual([new URL(shop.sandbox.baseUrl).origin]);
    await page.context().close();
  }, 60_000);

  it.each([1280, 390])(
    'shows a schema with all its fields, %i pixels wide',
    async (width) => {
      const page = await openDocs(width);
      const call = page.locator('#operations-Fiscal_Mode-printReceipt');
      await call.locator('.opblock-summary').click();
      await call.getByText('Schema', { exact: true }).first().click();
      await call.getByText('PaymentCode', { exact: false }).first().waitFor();
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
      await page.context().close();
    },
    60_000,
  );
});

it('the calls of the cabinet have their own page', async () => {
  const page = await openDocs(1280);
  await page.getByRole('link', { name: 'Calls of the cabinet' }).click();
  await page.locator('#operations-Cabinet-readDevelopers').waitFor();
  expect(await page.locator('#operations-POS_Mode-pay').count()).toBe(0);
  await page.context().close();
}, 60_000);

describe('the document of the page', () => {
  it('contains no example ids in the sandbox, and may not be cached', async () => {
    const response = await fetch(`${shop.sandbox.baseUrl}/docs/openapi.json`);
    const text = await response.text();
    for (const madeUp of [exampleApiKey, exampleTerminal, exampleRegister, exampleErp]) expect(text).not.toContain(madeUp);
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(response.headers.get('access-control-allow-origin')).toBeNull();
  });

  it('is separate from the document for programs, which has no key of the sandbox', async () => {
    const text = await (await fetch(`${shop.sandbox.baseUrl}/openapi.json`)).text();
    expect(text).toContain(exampleApiKey);
    expect(text).not.toContain(shop.sandbox.file.apiKey);
  });
});
