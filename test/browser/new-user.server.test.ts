// A new user, from the start of the sandbox through a story, step by step, to its payment found by search.
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openSandboxShop, type SandboxShop } from '../e2e/sandbox-shop.ts';
import { heading, launchChromium, newPerson, seriousFindings, watch } from './support/chromium.ts';

const withinMs = 5 * 60_000;
let shop: SandboxShop;
let browser: Browser;
let page: Page;
let startedAtMs: number;

beforeAll(async () => {
  startedAtMs = performance.now();
  shop = await openSandboxShop();
  browser = await launchChromium();
  page = await (await newPerson(browser)).newPage();
}, 120_000);
afterAll(async () => {
  await browser?.close();
  await shop?.close();
});

const isInView = (selector: string) =>
  page.evaluate(
    `(() => { const { top, bottom } = document.querySelector('${selector}').getBoundingClientRect(); return top >= 0 && bottom <= innerHeight; })()`,
  );

describe('a new user', () => {
  it('plays a story and finds its payment within five minutes, without a manual', { timeout: withinMs }, async () => {
    const { complaints } = watch(page);
    await page.goto(shop.sandbox.baseUrl);
    await page.getByRole('button', { name: 'Enter the sandbox' }).click();
    await heading(page, 'Overview');
    await page.getByText('No sales yet.').waitFor();
    await page.getByRole('region', { name: /first/i }).getByRole('link').first().click();
    await heading(page, 'Playground');

    const stepByStep = page.getByRole('checkbox', { name: 'Step by step' });
    await stepByStep.click();
    await expect.poll(() => stepByStep.isChecked()).toBe(true);
    await page.getByRole('button', { name: 'Play story' }).click();
    const next = page.getByRole('button', { name: 'Next step' });
    const verdict = page.getByRole('region', { name: 'What the ERP had to do' });
    for (let step = 0; step < 4; step += 1) {
      await page.locator('.story-steps li.done, .story-steps li.mishap').nth(step).waitFor({ timeout: 60_000 });
      await expect.poll(() => next.isEnabled(), { timeout: 30_000 }).toBe(true);
      // The books stay visible, however tall the stage is.
      expect(await isInView('.books')).toBe(true);
      await next.click();
    }
    await verdict.getByText('Nothing.').waitFor({ timeout: 60_000 });
    await page.getByText('BON FISCAL').first().waitFor();
    expect(await seriousFindings(page)).toEqual([]);

    await verdict.getByRole('link').first().click();
    await heading(page, /Charged once/);
    const rrn =
      (await page
        .locator('dd, .fact')
        .filter({ hasText: /^\d{12}$/ })
        .first()
        .textContent()) ?? '';
    expect(rrn).toMatch(/^\d{12}$/);
    await page.getByRole('link', { name: 'Overview', exact: true }).click();
    await page.getByRole('combobox', { name: /Find a document/ }).fill(rrn.slice(0, 8));
    await page.getByRole('option').filter({ hasText: 'MDL' }).first().click();
    await heading(page, /Charged once/);
    await page.getByText('Nothing to do.').waitFor();

    expect(complaints).toEqual([]);
    expect(performance.now() - startedAtMs).toBeLessThan(withinMs);
  });
});
