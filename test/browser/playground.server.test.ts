// The Playground in a real browser against a real sandbox: every button works on the virtual devices, each of the six stories reaches
// its verdict, and the four books agree, on the page and in the API. No serious axe finding, no horizontal scrolling, one origin.
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PlaygroundView } from '../../src/cabinet/playground/view-schema.ts';
import { openSandboxShop, type SandboxShop } from '../e2e/sandbox-shop.ts';
import { byDayOrNight } from '../support/at-length.ts';
import { until } from '../support/until.ts';
import { launchChromium, permissions, seriousFindings } from './support/chromium.ts';

const stories = [
  ['lostAnswer', 'Lost answer', 'Nothing.'],
  ['powerCut', 'Power cut', 'Nothing.'],
  ['doubleClick', 'Double click', 'Nothing.'],
  ['deadErp', 'Dead ERP', 'Nothing.'],
  ['expiredQr', 'Expired QR', 'Show a new QR.'],
  ['refundOverRest', 'Refund over the rest', /^Refund what is left: \d+\.\d\d MDL\.$/],
] as const;

/** By day one whose verdict is a fixed text and one whose verdict has an amount; test/playground/stories.test.ts plays all of them. */
const shownStories = stories.filter(([name]) => byDayOrNight(name === 'doubleClick' || name === 'refundOverRest', true));

let shop: SandboxShop;
let browser: Browser;
let context: BrowserContext;
let page: Page;
let cabinet: string;
const asked = new Set<string>();
const complaints: string[] = [];

async function newPage(reducedMotion: 'reduce' | 'no-preference'): Promise<Page> {
  context = await browser.newContext({ reducedMotion, locale: 'en-GB', viewport: { width: 1440, height: 1000 }, permissions });
  const opened = await context.newPage();
  // Well below the time-out of the test, so that a failure names the element it waited for.
  opened.setDefaultTimeout(15_000);
  opened.on('request', (request) => asked.add(new URL(request.url()).origin));
  opened.on('console', (message) => {
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) complaints.push(message.text());
  });
  opened.on('pageerror', (error) => complaints.push(error.message));
  await opened.goto(cabinet);
  await opened.getByRole('button', { name: 'Enter the sandbox', exact: true }).click();
  await opened.getByRole('heading', { level: 1, name: 'Overview', exact: true }).waitFor();
  return opened;
}

beforeAll(async () => {
  shop = await openSandboxShop();
  cabinet = `${shop.sandbox.baseUrl}/cabinet`;
  browser = await launchChromium();
  page = await newPage('reduce');
}, 120_000);
afterAll(async () => {
  await browser?.close();
  await shop?.close();
});

/** The data of the page, read from the API. */
async function state(): Promise<PlaygroundView> {
  const answer = await page.evaluate(`fetch('${cabinet}/api/playground').then((response) => response.json())`);
  return answer as PlaygroundView;
}

const group = (name: string) => page.getByRole('group', { name, exact: true });
const press = (where: string, name: string) => group(where).getByRole('button', { name, exact: true }).click();
/** Returns when the sale has begun: until then the till shows the previous one, and no operation is under way. */
async function newSale(): Promise<void> {
  const previous = (await state()).till.lastSale?.id;
  await press('Till', 'New sale');
  await until(async () => (await state()).till.lastSale?.id !== previous);
}
const terminalShows = (text: string) => page.locator('.pos-verdict', { hasText: text }).waitFor();
const tillShows = (text: string) => page.locator('.till-state', { hasText: text }).waitFor();
const heard = (text: string) => page.getByRole('region', { name: 'ERP: what it receives' }).getByText(text).first().waitFor();
const onTheWire = (text: string) =>
  page.getByRole('region', { name: 'On the wire' }).getByRole('listitem').filter({ hasText: text }).first().waitFor();

/** The page and the API agree, with the same four sums. */
async function expectBooksAgree(): Promise<PlaygroundView['books']> {
  await until(async () => (await state()).books.underWay === 0, 30_000);
  const { books } = await state();
  expect(books).toMatchObject({ agree: true, differences: [] });
  await page.getByRole('region', { name: 'The four books' }).getByText('All agree').waitFor();
  for (const name of ['bank', 'ledger', 'fiscal', 'erp'] as const) {
    // The page updates a moment after the API.
    const shown = async () => Number((await page.locator(`[data-book="${name}"]`).innerText()).replace(/[^\d.]/g, ''));
    await until(async () => (await shown()) === books[name].sum, 10_000);
  }
  expect(new Set([books.bank.sum, books.ledger.sum, books.fiscal.sum, books.erp.sum]).size).toBe(1);
  return books;
}

const sidewaysPx = () => page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');

describe('the page', () => {
  it('is linked from the sandbox bar and the navigation', async () => {
    await page.locator('.sandbox-bar').getByRole('link', { name: 'Open Playground' }).click();
    await page.getByRole('heading', { level: 1, name: 'Playground', exact: true }).waitFor();
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Overview' }).click();
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Playground' }).click();
    await page.getByRole('heading', { level: 1, name: 'Playground', exact: true }).waitFor();
  });

  it('explains its empty state, and offers all four terminals and both registers', async () => {
    await page.getByText('No messages yet.').waitFor();
    expect(await group('Card terminal').getByRole('option').count()).toBe(shop.terminals.length);
    expect(await group('Fiscal register').getByRole('option').count()).toBe(shop.registers.length);
    expect([shop.terminals.length, shop.registers.length]).toEqual([4, 2]);
  });
});

describe('by hand', () => {
  it('sells when the card is presented and a PIN is entered on the keys of the terminal', async () => {
    await page.getByRole('button', { name: 'Free play', exact: true }).click();
    await press('Card terminal', 'By hand');
    await newSale();
    await terminalShows('Present the card');
    await press('Card terminal', 'Present card');
    await terminalShows('Enter the PIN');
    const keys = page.locator('.pos-keys');
    for (const digit of ['1', '2', '3', '4']) await keys.getByRole('button', { name: digit, exact: true }).click();
    await keys.getByRole('button', { name: 'Green key: enter' }).click();
    await terminalShows('Approved');
    await page.locator('[data-said]', { hasText: /Approved|Receipt printed/ }).waitFor({ state: 'attached' });
    await tillShows('sold');
    const { total = 0 } = (await state()).till.lastSale ?? {};
    await page.getByRole('region', { name: 'What the register printed' }).getByText(`TOTAL MDL`).waitFor();
    expect(await page.locator('.print').innerText()).toContain(total.toFixed(2));
    expect((await expectBooksAgree()).bank.count).toBe(1);
  });

  it.each([
    ['Decline', 'Declined'],
    ['Wrong PIN', 'Declined'],
  ])('%s: no money moves', async (button, shown) => {
    await newSale();
    await terminalShows('Present the card');
    await press('Card terminal', 'Present card');
    await terminalShows('Enter the PIN');
    await press('Card terminal', button);
    await terminalShows(shown);
    await tillShows('not paid');
    expect((await expectBooksAgree()).bank.count).toBe(1);
  });

  it('Cancel with the red key: no money moves', async () => {
    await newSale();
    await terminalShows('Present the card');
    expect(await group('Card terminal').getByRole('button', { name: 'Enter PIN', exact: true }).isDisabled()).toBe(true);
    await page.getByRole('button', { name: 'Red key: cancel' }).click();
    await terminalShows('Cancelled');
    await tillShows('not paid');
    expect((await expectBooksAgree()).bank.count).toBe(1);
    await press('Card terminal', 'By itself');
    await page.locator('.terminal-controls [aria-pressed="true"]', { hasText: 'By itself' }).waitFor();
  });
});

describe('faults', () => {
  it('loses the answer, shows that, and finds it when the terminal reconnects', async () => {
    await press('Card terminal', 'Lose answer');
    await page.locator('.terminal-controls [aria-pressed="true"]', { hasText: 'Lose answer' }).waitFor();
    await newSale();
    await onTheWire('lost');
    await page.locator('.wire-lost', { hasText: 'lost at' }).waitFor();
    await press('Card terminal', 'Cut MQTT');
    await page.locator('.terminal-controls [aria-pressed="true"]', { hasText: 'Cut MQTT' }).waitFor();
    await press('Card terminal', 'Cut MQTT');
    await onTheWire('Recall');
    await tillShows('sold');
    expect((await expectBooksAgree()).bank.count).toBe(2);
  });

  it('cuts the power after the approval of the bank: charged once, found afterwards', async () => {
    await press('Card terminal', 'Power cut after the bank');
    await page.locator('.terminal-controls [aria-pressed="true"]', { hasText: 'Power cut after' }).waitFor();
    await newSale();
    await onTheWire('Recall');
    await tillShows('sold');
    expect((await expectBooksAgree()).bank.count).toBe(3);
  });

  it('answers twice: counted once', async () => {
    await press('Card terminal', 'Answer twice');
    await page.locator('.terminal-controls [aria-pressed="true"]', { hasText: 'Answer twice' }).waitFor();
    await newSale();
    await onTheWire('arrived twice');
    await tillShows('sold');
    expect((await expectBooksAgree()).bank.count).toBe(4);
  });

  it('prints no receipt without paper, and prints it when the call is repeated with a new roll', async () => {
    await press('Fiscal register', 'Paper out');
    await group('Fiscal register').getByRole('button', { name: 'New roll' }).waitFor();
    await newSale();
    await tillShows('paid, no receipt');
    await page.getByRole('region', { name: 'The four books' }).getByText('They do not agree').waitFor();
    await press('Fiscal register', 'New roll');
    await group('Fiscal register').getByRole('button', { name: 'Paper out' }).waitFor();
    await press('Till', 'Send the last call again');
    await tillShows('sold');
    expect((await expectBooksAgree()).fiscal.count).toBe(5);
  });

  it('uses another terminal when it is selected', async () => {
    const other = (await state()).devices.filter(({ kind }) => kind === 'terminal')[2];
    await group('Card terminal')
      .getByRole('combobox')
      .selectOption(other?.id ?? '');
    await newSale();
    await tillShows('sold');
    expect((await state()).till.lastSale?.deviceId).toBe(other?.id);
    await expectBooksAgree();
  });
});

describe('QR and refund', () => {
  it('creates an invoice, shows its QR, scans and pays it, and the ERP gets a signed callback', async () => {
    await press('Till', 'Pay by QR');
    await page.getByRole('img', { name: /^QR of an invoice for/ }).waitFor();
    await press('Till', 'Scan the QR');
    await page.locator('.till-invoice', { hasText: 'Scanned' }).waitFor();
    await press('Till', 'Pay the invoice');
    await page.locator('.till-invoice', { hasText: 'Paid' }).waitFor();
    await heard('Payed');
    await page.getByText('signatures verified').waitFor();
    await tillShows('sold');
    await expectBooksAgree();
  });

  it('refunds a part of the last sale', async () => {
    await newSale();
    await tillShows('sold');
    await page.getByLabel('Amount, MDL').fill('10');
    await press('Till', 'Refund');
    await tillShows('refunded 10.00');
    await page.getByLabel('Amount, MDL').fill('');
    const books = await expectBooksAgree();
    expect([books.bank.refunds, books.erp.refunds]).toEqual([
      { sum: 10, count: 1 },
      { sum: 10, count: 1 },
    ]);
  });

  it('shows the API call of a click, without the key', async () => {
    const card = page.getByRole('region', { name: 'The call behind the button' }).first();
    await card.getByRole('button', { name: 'Refund', exact: true }).click();
    const text = await card.innerText();
    expect(text).toContain('/Device/payment/Refund');
    expect(text).toContain('$KEY');
    expect(text).not.toContain(shop.sandbox.file.apiKey);
    await card.getByRole('button', { name: 'Copy curl' }).click();
    await card.getByText('Copied').waitFor();
  });
});

describe('stories', () => {
  beforeAll(async () => {
    await page.getByRole('button', { name: 'Stories', exact: true }).click();
  });

  it.each(shownStories)(
    '%s reaches its verdict, and the books agree',
    async (name, title, todo) => {
      const bar = page.getByRole('region', { name: 'Story', exact: true });
      await bar.getByRole('button', { name: title, exact: true }).click();
      await bar.getByRole('heading', { name: title, exact: true }).waitFor();
      await bar.getByRole('button', { name: /^(Play|Replay) story$/ }).click();
      const outcome = page.getByRole('region', { name: 'What the ERP had to do' });
      await until(async () => {
        const { story } = await state();
        return story?.name === name && !story.isRunning && story.verdict !== undefined;
      }, 60_000);
      await outcome.getByText('The four books agree.').waitFor();
      await outcome.getByText(todo).waitFor();
      const { story } = await state();
      expect(story?.verdict).toMatchObject({ key: `playground.verdict.${name}`, booksAgree: true });
      expect(story?.steps.map(({ state: one }) => one).filter((one) => one !== 'done')).toEqual([]);
      // Translated text, not keys.
      expect(await bar.innerText()).not.toMatch(/playground\.|\{\{/);
      expect(await outcome.innerText()).not.toMatch(/playground\.|\{\{/);
      await expectBooksAgree();
    },
    90_000,
  );

  it('links to the timeline of its sale', async () => {
    await page.getByRole('link', { name: 'Open timeline of this sale' }).click();
    await page.getByRole('heading', { level: 1 }).filter({ hasNotText: 'Playground' }).waitFor();
    expect(page.url()).toMatch(/\/payments\/[\da-f-]{36}$/);
    await page.goBack();
    await page.getByRole('heading', { level: 1, name: 'Playground', exact: true }).waitFor();
  });
});

describe('a story', () => {
  it('is refused with a reason during a sale', async () => {
    await press('Card terminal', 'By hand');
    await page.locator('.terminal-controls [aria-pressed="true"]', { hasText: 'By hand' }).waitFor();
    await newSale();
    await terminalShows('Present the card');
    await page.getByRole('button', { name: /^(Play|Replay) story$/ }).click();
    await page.getByRole('alert').getByText('The till is in the middle of a sale').waitFor();
    await press('Card terminal', 'Cancel');
    await tillShows('not paid');
    await expectBooksAgree();
  });

  it('that is stopped reports no result, and the money is still right', async () => {
    await page.getByRole('button', { name: /^(Play|Replay) story$/ }).click();
    await page.getByRole('button', { name: 'Stop story' }).click();
    const outcome = page.getByRole('region', { name: 'What the ERP had to do' });
    await outcome.getByText('Not clear.').waitFor();
    await outcome.getByText('The story stopped: Stopped by the user.').waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    await expectBooksAgree();
  }, 60_000);
});

describe('the whole page', () => {
  // The layouts: side by side, with the register below, and in one column.
  it.each([1440, 900, 390])(
    'has no serious finding in light and dark, %i wide',
    async (width) => {
      await page.setViewportSize({ width, height: 900 });
      for (const [theme, which] of [
        ['light', 'all'],
        ['dark', 'contrast'],
      ] as const) {
        await page.evaluate(`document.documentElement.setAttribute('data-mantine-color-scheme', '${theme}')`);
        expect(await seriousFindings(page, which), theme).toEqual([]);
      }
      await page.evaluate("document.documentElement.setAttribute('data-mantine-color-scheme', 'light')");
    },
    60_000,
  );

  it.each(['en', 'ro', 'ru'])('fits every width without horizontal scrolling in %s', async (language) => {
    await page.evaluate(`localStorage.setItem('tillgate.language', '${language}')`);
    await page.goto(`${cabinet}/playground`);
    await page.locator('.wires').waitFor({ state: 'attached' });
    const wide: number[] = [];
    for (const width of byDayOrNight([360, 820, 1280], [360, 390, 760, 820, 1024, 1280, 1440, 1920])) {
      await page.setViewportSize({ width, height: 900 });
      if ((await sidewaysPx()) !== 0) wide.push(width);
    }
    expect(wide).toEqual([]);
  });

  it('animates messages, unless reduced motion is set', async () => {
    await page.evaluate("localStorage.setItem('tillgate.language', 'en')");
    await page.setViewportSize({ width: 1440, height: 1000 });
    await page.goto(`${cabinet}/playground`);
    const moving = await newPage('no-preference');
    await moving.goto(`${cabinet}/playground`);
    await moving.getByRole('button', { name: 'New sale', exact: true }).click();
    await moving.locator('.runner').first().waitFor({ state: 'attached' });
    await tillShows('sold');
    await onTheWire('Pay');
    expect(await page.locator('.runner').count()).toBe(0);
    await moving.context().close();
  });

  it('asks for a confirmation before the books are emptied, and says that nothing is deleted', async () => {
    await page.getByRole('button', { name: 'Empty the books…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Nothing is deleted').waitFor();
    expect((await state()).books.bank.count).toBeGreaterThan(0);
    await dialog.getByRole('button', { name: 'Empty books' }).click();
    await page.getByText('four empty books').waitFor();
    expect((await state()).books.bank.count).toBe(0);
  });

  it('has neither link nor page outside the sandbox', async () => {
    await page.route('**/cabinet/api/session', async (route) => {
      const answer = await route.fetch();
      await route.fulfill({ response: answer, json: { ...(await answer.json()), isSandbox: false } });
    });
    await page.goto(`${cabinet}/playground`);
    await page.getByRole('heading', { name: 'There is no such page' }).waitFor();
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Developers' }).waitFor();
    expect(await page.getByRole('link', { name: /playground/i }).count()).toBe(0);
    await page.unroute('**/cabinet/api/session');
  });

  it('has loaded from one origin only, without an error', () => {
    expect([...asked]).toEqual([new URL(cabinet).origin]);
    expect(complaints).toEqual([]);
  });
});
