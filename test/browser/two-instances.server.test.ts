// The cabinet on PostgreSQL with two gateways behind one proxy: events of one are shown by the other, and when one dies the page
// continues at the other without missing events.
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDatabase } from '../support/create-database.ts';
import { type GatewayProcess, patienceMs, serveSettings, startServeProcess } from '../support/gateway-process.ts';
import { type MosquittoServer, startMosquitto } from '../support/servers/mosquitto.ts';
import { createTill, type Till } from '../support/till.ts';
import { heading, launchChromium, newPerson, open, signIn, watch } from './support/chromium.ts';
import { type Front, startFront } from './support/front.ts';
import { invitedBy } from './support/invited.ts';
import { pages } from './support/pages.ts';

let mosquitto: MosquittoServer;
let gateways: GatewayProcess[];
let front: Front;
let browser: Browser;
let page: Page;
let cabinet: string;
/** One ERP client per gateway. */
let tills: Till[];

const portOf = ({ baseUrl }: GatewayProcess) => Number(new URL(baseUrl).port);

beforeAll(async () => {
  mosquitto = await startMosquitto();
  // No device connects, so the servers of all tests will do.
  const shared = {
    TILLGATE_DATABASE_URL: await createDatabase(process.env['TILLGATE_TEST_POSTGRES_URL'] ?? ''),
    TILLGATE_MQTT_URL: mosquitto.url,
    TILLGATE_QUEUE_URL: process.env['TILLGATE_TEST_RABBITMQ_URL'] ?? '',
    TILLGATE_BROKER_TOKEN: 'the-token-of-the-test-broker',
  };
  gateways = [];
  // One after the other: the first one migrates the database.
  for (let count = 0; count < 2; count += 1) gateways.push(await startServeProcess(await serveSettings(shared)));
  const [first, second] = gateways;
  if (!first || !second) throw new Error('There are not two gateways.');
  const admin = createTill({ baseUrl: first.baseUrl, adminToken: first.adminToken, apiKey: '' });
  const { id: merchantId } = await admin.admin('/merchants', { name: 'Alpha' });
  const { key } = await admin.admin('/keys', { merchantId, name: 'ERP', modules: ['QR'] });
  tills = gateways.map(({ baseUrl, adminToken }) => createTill({ baseUrl, adminToken, apiKey: String(key) }));
  front = await startFront(portOf(second));
  cabinet = `${front.origin}${new URL(second.baseUrl).pathname}/cabinet`;
  browser = await launchChromium();
  page = await (await newPerson(browser)).newPage();
  await createInvoice(0, 1);
  await signIn(page, cabinet, await invitedBy(first.baseUrl, admin.admin, { name: 'Olga Operator', role: 'operator' }));
}, 4 * patienceMs);
afterAll(async () => {
  await browser?.close();
  await front?.stop();
  await Promise.all((gateways ?? []).map((gateway) => gateway.kill9()));
  await mosquitto?.stop();
});

async function createInvoice(at: number, price: number): Promise<string> {
  const answer = await tills[at]?.post('/Invoice/Create', {
    CallbackURI: 'http://127.0.0.1:9/erp?oid=#OID#',
    Receipt: { Number: `T-${price}`, Items: [{ Name: 'Tea', Quantity: 1, Price: price }] },
  });
  expect(answer?.errorCode).toBe(0);
  return String(answer?.['OID']);
}

const rows = () => page.getByRole('table', { name: 'Invoices' }).locator('tbody tr');

describe('two instances', () => {
  it('show events of each other', async () => {
    await open(page, cabinet, '/invoices');
    await rows().first().waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    await createInvoice(0, 2);
    await page.getByRole('button', { name: '1 new' }).click();
    await page.getByRole('cell', { name: '2.00', exact: true }).waitFor();
  });

  it('support the main workflow: a list, its object, a step with its consequence, and back', async () => {
    await rows().first().click();
    await page.getByRole('button', { name: 'Cancel invoice…' }).click();
    await page.getByRole('dialog').getByText('Nobody can scan or pay it any more.').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel invoice' }).click();
    await heading(page, /cancel/i);
    await page.getByRole('listitem').filter({ hasText: 'Olga Operator' }).first().waitFor();
    await page.goBack();
    await page.getByText('Cancelled').waitFor();
  });

  it('show every page without an error, whichever of them answers', async () => {
    const { complaints } = watch(page);
    const served = pages.filter(([name]) => name !== 'Playground');
    for (const [at, [name]] of served.entries()) {
      front.leadTo(portOf(gateways[at % 2] as GatewayProcess));
      await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name }).click();
      await heading(page, name);
      await page.waitForLoadState('networkidle').catch(() => {});
      expect(await page.getByRole('alert').allTextContents(), name).toEqual([]);
    }
    expect(complaints).toEqual([]);
    front.leadTo(portOf(gateways[1] as GatewayProcess));
    await open(page, cabinet, '/invoices');
    await rows().first().waitFor();
  }, 60_000);

  it('recover a page whose gateway was killed, without missing events', async () => {
    const [survivor, killed] = gateways;
    if (!survivor || !killed) throw new Error('There are not two gateways.');
    const before = await rows().count();
    await killed.kill9();
    await page.getByText('The connection to the gateway is lost.').waitFor();
    // This happens while the page is disconnected.
    await createInvoice(0, 3);
    front.leadTo(portOf(survivor));
    await page.getByRole('button', { name: '1 new' }).click({ timeout: 20_000 });
    await page.getByText('Live', { exact: true }).waitFor();
    expect(await rows().count()).toBe(before + 1);
    await createInvoice(0, 4);
    await page.getByRole('button', { name: '1 new' }).waitFor();
  }, 40_000);
});
