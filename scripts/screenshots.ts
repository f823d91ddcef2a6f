// The eight pictures of README and docs/cabinet.md: a sandbox with played days, rendered by Chromium, light and dark.
// Run it after a visible change: npm run screenshots. It needs Chromium (TILLGATE_TEST_CHROMIUM, otherwise an installed one).
import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type BrowserContext, chromium, type Page } from 'playwright-core';
import { chromiumPath } from '../test/support/servers/chromium.ts';
import { palettePng } from './screenshots/palette-png.ts';
import { openPlayedShop, type PlayedShop, zone } from './screenshots/played-shop.ts';

const directory = fileURLToPath(new URL('../docs/pictures/', import.meta.url));
const maxBytes = 200_000;

interface Picture {
  name: string;
  theme: 'light' | 'dark';
  path: (shop: PlayedShop) => string;
  prepare?: (page: Page) => Promise<unknown>;
}

const pictures: Picture[] = [
  { name: 'overview', theme: 'light', path: () => '/overview' },
  { name: 'overview-dark', theme: 'dark', path: () => '/overview' },
  { name: 'payments', theme: 'light', path: () => '/payments' },
  { name: 'sale', theme: 'light', path: (shop) => shop.lostAnswerPath },
  { name: 'attention-dark', theme: 'dark', path: () => '/attention' },
  { name: 'invoice', theme: 'light', path: (shop) => shop.paidInvoicePath },
  { name: 'day-close', theme: 'light', path: () => '/day-close' },
  {
    name: 'playground-dark',
    theme: 'dark',
    path: () => '/playground',
    async prepare(page) {
      await page.getByRole('button', { name: 'Free play', exact: true }).click();
      await page.getByRole('group', { name: 'Till', exact: true }).getByRole('button', { name: 'New sale', exact: true }).click();
      await page.locator('.till-state', { hasText: 'sold' }).waitFor();
      await page.waitForTimeout(2_000);
    },
  },
];

async function enter(context: BrowserContext, shop: PlayedShop): Promise<Page> {
  // The page's clock is the shop's.
  await context.clock.install({ time: shop.now() });
  const page = await context.newPage();
  await page.goto(`${shop.baseUrl}/cabinet`);
  await page.getByRole('button', { name: 'Enter the sandbox' }).click();
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  return page;
}

async function take(shop: PlayedShop): Promise<void> {
  const browser = await chromium.launch({
    executablePath: chromiumPath() ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  });
  mkdirSync(directory, { recursive: true });
  const wanted = process.argv.slice(2);
  for (const { name, theme, path, prepare } of pictures) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    const context = await browser.newContext({
      viewport: { width: 1440, height: 900 },
      colorScheme: theme,
      locale: 'en-GB',
      timezoneId: zone,
      reducedMotion: 'reduce',
    });
    const page = await enter(context, shop);
    await page.goto(`${shop.baseUrl}/cabinet${path(shop)}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.waitForTimeout(1_000);
    await prepare?.(page);
    const picture = palettePng(await page.screenshot());
    if (picture.length > maxBytes) throw new Error(`${name} has ${picture.length} bytes, more than ${maxBytes}.`);
    writeFileSync(`${directory}${name}.png`, picture);
    console.log(`docs/pictures/${name}.png, ${Math.round(picture.length / 1000)} KB`);
    await context.close();
  }
  await browser.close();
}

const shop = await openPlayedShop((line) => console.log(line));
try {
  await take(shop);
} finally {
  await shop.stop();
}
