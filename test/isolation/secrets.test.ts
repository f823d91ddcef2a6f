// Keys, secrets, passwords and card numbers that are easy to recognise go through a running gateway in every way there is, right and wrong.
// Then they are looked for in all that it leaves behind: its log at its most talkative, its metrics, its database and the cabinet's lists.
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { connectAsync } from 'mqtt';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ForeignShop, openForeignShop } from '../conformance/foreign-shop.ts';
import { emptyPlace, engines } from '../support/engines.ts';
import { type GatewayProcess, serveSettings, startServeProcess, temporaryDirectory } from '../support/gateway-process.ts';
import { eventually } from '../support/till.ts';

const adminToken = 'canary-admin-token-0123456789abcdef';
const metricsToken = 'canary-metrics-token-0123456789abc';
const password = 'canary password of somebody 4711';
const wrongPassword = 'canary password that is wrong 0815';
const wrongSecret = 'canary-secret-of-nobody';
const cards = ['4111111111111111', '5500 0000 0000 0004', '3400-000000-00009'];
const json = { 'content-type': 'application/json', 'x-tillgate-request': '1' };

describe.each(engines)('what a gateway on %s leaves behind', (engine) => {
  let place: Awaited<ReturnType<typeof emptyPlace>>;
  let gateway: GatewayProcess;
  let shop: ForeignShop;
  /** By name; found where they may not be, they are named, not shown. */
  const canaries: Record<string, string> = {};
  let signingSecret = '';

  beforeAll(async () => {
    place = await emptyPlace(engine);
    const { url, dataDir = temporaryDirectory() } = place.options;
    const settings = await serveSettings({
      TILLGATE_DATA_DIR: dataDir,
      ...(url === undefined ? {} : { TILLGATE_DATABASE_URL: url }),
      TILLGATE_ADMIN_TOKEN: adminToken,
      TILLGATE_METRICS_TOKEN: metricsToken,
      TILLGATE_LOG_LEVEL: 'debug',
      TILLGATE_CALLBACK_ALLOW: '127.0.0.1/32',
    });
    shop = await openForeignShop({}, async () => {
      gateway = await startServeProcess(settings);
      return gateway;
    });
    Object.assign(canaries, { adminToken, metricsToken, password, wrongPassword, wrongSecret, apiKey: shop.apiKey });
    cards.forEach((card, index) => {
      canaries[`card ${index + 1}`] = card;
    });
    await sell();
    await knockAtTheDoor();
    await comeInAsAPerson();
    await gateway.terminate();
  }, 120_000);
  afterAll(async () => {
    await gateway?.kill9();
    await place?.remove();
  });

  /** A device with a secret, payments with card numbers wherever they could be, and a callback with its signature. */
  async function sell(): Promise<void> {
    const { pairingCode } = await shop.till.admin('/devices', {
      merchantId: shop.merchantId,
      kind: 'terminal',
      name: 'Till',
      bank: 'maib',
    });
    canaries['pairing code'] = String(pairingCode);
    const device = await shop.live('terminal', 'mqtt');
    canaries['device secret'] = device.secret;
    signingSecret = String((await shop.till.admin(`/merchants/${shop.merchantId}/secret`, {}))['secret']);
    const pay = (more: object = {}) =>
      shop.till.post('/Device/payment/Pay', { DeviceID: device.deviceId, amount: 1, documentNr: randomUUID(), ...more });
    const [first, second, third] = cards;
    const refused = pay({ note: `card ${first}` });
    await device.say(await device.next('Pay'), 'refused', {
      reason: `Card ${first} is blocked`,
      report: { pan: second, text: `of ${third}` },
    });
    await refused;
    const paid = pay();
    const report = { rrn: '1', authCode: '2', operationId: 'OP1', amount: 1, pan: first, maskedCard: second, list: [{ note: third }] };
    await device.say(await device.next('Pay'), 'done', { report });
    expect(await paid).toMatchObject({ errorCode: 0 });
    await device.line('mqtt').presence(device.presenceText({ firmware: first, note: second }));
    const CallbackURI = 'http://127.0.0.1:9/nobody?oid=#OID#&state=#State#';
    const { QR } = await shop.till.post('/Invoice/Create', { CallbackURI, Receipt: { Items: [{ Name: 'Bread', Quantity: 1, Price: 1 }] } });
    expect(await shop.till.get('/Invoice/Get', { QR: String(QR) })).toMatchObject({ errorCode: 0 });
    await eventually(
      'a callback was tried',
      async () => (await shop.till.admin('/callbacks'))['callbacks'] as { attempts: number }[],
      (callbacks) => callbacks.some(({ attempts }) => attempts > 0),
    );
    await device.leave();
  }

  /** Keys in every place where a careless program writes them, with what the gateway refuses around them. */
  async function knockAtTheDoor(): Promise<void> {
    const { baseUrl } = shop.till;
    const key = shop.apiKey;
    const tries: [string, RequestInit][] = [
      [`/Device/Device/Status?APIKey=${key}&DeviceID=x`, {}],
      [`/nowhere/${key}?APIKey=${key}`, {}],
      [`/Invoice/Status?QR=${key}`, { headers: { 'x-api-key': key } }],
      ['/Device/payment/Pay', { method: 'POST', headers: json, body: `{"APIKey":"${key}","amount":` }],
      ['/Device/payment/Pay', { method: 'POST', headers: json, body: JSON.stringify({ APIKey: key, DeviceID: key, amount: 'much' }) }],
      ['/Device/payment/Pay', { method: 'DELETE', headers: { 'x-api-key': key } }],
      ['/cabinet/api/merchants', { headers: { authorization: `Bearer ${adminToken}` } }],
      ['/cabinet/api/merchants', { headers: { authorization: `Basic ${Buffer.from(`x:${wrongSecret}`).toString('base64')}` } }],
      ['/metrics', { headers: { authorization: `Bearer ${metricsToken}` } }],
      ['/pairing', { method: 'POST', headers: json, body: JSON.stringify({ code: wrongSecret }) }],
      ['/pairing', { method: 'POST', headers: json, body: JSON.stringify({ code: canaries['pairing code'] }) }],
    ];
    for (const [path, init] of tries) await (await fetch(`${baseUrl}${path}`, init)).text();
    const { mqttUrl, deviceId } = await shop.register('terminal');
    const login = { clientId: deviceId, username: deviceId, password: wrongSecret, protocolVersion: 4, reconnectPeriod: 0 } as const;
    await expect(connectAsync(mqttUrl, login)).rejects.toThrow();
  }

  async function comeInAsAPerson(): Promise<void> {
    const { baseUrl } = shop.till;
    const { link } = await shop.till.admin('/users', { email: 'ana@example.md', name: 'Ana', role: 'operator', allMerchants: true });
    const token = String(link).split('#')[1] ?? '';
    canaries['invitation'] = token;
    const post = (path: string, body: object, headers: object = {}) =>
      fetch(`${baseUrl}/cabinet/api${path}`, { method: 'POST', headers: { ...json, ...headers }, body: JSON.stringify(body) });
    expect((await post('/links/use', { token, password })).ok).toBe(true);
    await post('/session', { email: 'ana@example.md', password: wrongPassword });
    const signedIn = await post('/session', { email: 'ana@example.md', password });
    const cookie = signedIn.headers.getSetCookie()[0]?.split(';')[0] ?? '';
    const session = cookie.split('=')[1] ?? '';
    expect(session.length).toBeGreaterThan(20);
    canaries['session'] = session;
    await (await fetch(`${baseUrl}/cabinet/api/commands?q=${cards[0]}`, { headers: { cookie } })).text();
    const exported = await fetch(`${baseUrl}/cabinet/api/commands.csv`, { headers: { cookie } });
    shown.push(await exported.text(), JSON.stringify(await shop.till.admin('/audit')), JSON.stringify(await shop.till.admin('/commands')));
    shown.push(await (await fetch(`${baseUrl}/metrics`, { headers: { authorization: `Bearer ${metricsToken}` } })).text());
  }
  const shown: string[] = [];

  /** Names of the canaries in a text. */
  const foundIn = (text: string, all = canaries) => Object.keys(all).filter((name) => text.includes(all[name] ?? '?'));

  it('has what it looks for', () => {
    expect(Object.keys(canaries).length).toBe(13);
    for (const [name, canary] of Object.entries(canaries)) expect(canary.length, name).toBeGreaterThan(7);
    expect(signingSecret).toMatch(/^whsec_/);
  });

  it('has none of them in its log, whatever its level', () => {
    const log = gateway.out() + gateway.err();
    expect(log.length).toBeGreaterThan(5_000);
    expect(log).toContain('"level"');
    expect(foundIn(log, { ...canaries, signingSecret })).toEqual([]);
  });

  it('has none of them in metrics, lists and exports', () => {
    for (const text of shown) {
      expect(text.length).toBeGreaterThan(100);
      expect(foundIn(text, { ...canaries, signingSecret })).toEqual([]);
    }
  });

  it('has none of them in its database: what must be kept is kept as a hash, and the signing secret is the only one that signs', async () => {
    const { url, dataDir } = place.options;
    const dump = url === undefined ? readFiles(dataDir ?? '') : await readTables(url);
    expect(dump).toContain('ana@example.md');
    expect(foundIn(dump)).toEqual([]);
    expect(dump).toContain(signingSecret.replace('whsec_', ''));
  });
});

function readFiles(directory: string): string {
  return readdirSync(directory, { recursive: true })
    .map((name) => join(directory, String(name)))
    .filter((path) => statSync(path).isFile())
    .map((path) => readFileSync(path, 'latin1'))
    .join('\n');
}

async function readTables(url: string): Promise<string> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<{ name: string }>(
      "select tablename as name from pg_tables where schemaname not in ('pg_catalog', 'information_schema')",
    );
    let dump = '';
    for (const { name } of rows) dump += `${JSON.stringify((await client.query(`select * from "${name}"`)).rows)}\n`;
    return dump;
  } finally {
    await client.end();
  }
}
