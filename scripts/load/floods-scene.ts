// Floods from one address, one after the other, and what a payment of another merchant takes meanwhile: on a gateway without TLS, and on
// one with it.
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { selfSigned } from '../../test/http/self-signed.ts';
import { freePort } from '../../test/support/free-port.ts';
import { type Settings, temporaryDirectory } from '../../test/support/gateway-process.ts';
import { reportOf, type Till } from '../../test/support/till.ts';
import type { FloodOptions } from './flood.ts';
import { type LoadShop, openLoadShop, startChild } from './load-shop.ts';
import { pause, type SceneResult, spreadOf } from './measure.ts';
import { boundMs, type SceneOptions, tillOf } from './scenes.ts';

type Flood = { name: string } & Pick<FloodOptions, 'kind' | 'connections'> & Partial<FloodOptions>;

/** The limits of a gateway as it is installed, which the other scenes raise. */
const usualLimits = { TILLGATE_RATE_LIMIT: '200', TILLGATE_CONNECTIONS_PER_ADDRESS: '500', TILLGATE_MQTT_CONNECTIONS: '10000' };
const items = Array.from({ length: 900 }, (_, n) => ({ Name: `Coffee with milk, number ${n}`, Quantity: 1, Price: 3.5 }));
const someQr = 'AQ9iZzcU7kaBs0lNq2tDQwWex87g9SwhwyqTJddp1P5X';

const bodyBytes = 900 * 1024;
/** A large body: one text, which is parsed and refused. */
const largeBody = '{"Text":"@filling@"}';

function requestOf(line: string, headers: readonly string[] = [], body = '', fillingBytes = 0): string {
  const length = body.length + (fillingBytes === 0 ? 0 : fillingBytes - '@filling@'.length);
  const ofBody = body === '' ? [] : ['Content-Type: application/json', `Content-Length: ${length}`];
  return `${[line, 'Host: x', ...headers, ...ofBody].join('\r\n')}\r\n\r\n${body}`;
}

function plainFloods({ baseUrl, other, mqttPort }: LoadShop): Flood[] {
  const { pathname } = new URL(baseUrl);
  const create = JSON.stringify({ APIKey: other.apiKey, Receipt: { Items: items } });
  const login = Buffer.from(`${other.device.id}:${other.device.secret}`).toString('base64');
  const status = requestOf(`GET ${pathname}/Invoice/Status?QR=${someQr} HTTP/1.1`, [`Authorization: Basic ${login}`]);
  return [
    { name: 'no flood', kind: 'requests', connections: 0 },
    {
      name: 'invoices of 900 items',
      kind: 'requests',
      connections: 64,
      text: requestOf(`POST ${pathname}/Invoice/Create HTTP/1.1`, [], create),
    },
    {
      name: 'large bodies',
      kind: 'requests',
      connections: 200,
      text: requestOf(`POST ${pathname}/Invoice/Create HTTP/1.1`, [`X-API-Key: ${other.apiKey}`], largeBody, bodyBytes),
      fillingBytes: bodyBytes,
    },
    {
      name: 'large bodies without a key',
      kind: 'requests',
      connections: 200,
      text: requestOf(`POST ${pathname}/Invoice/Create HTTP/1.1`, [], largeBody, bodyBytes),
      fillingBytes: bodyBytes,
    },
    { name: 'a device', kind: 'requests', connections: 450, text: status },
    { name: 'new connections', kind: 'connections', connections: 200 },
    { name: 'wrong MQTT logins', kind: 'logins', connections: 200, addresses: 2, port: mqttPort },
    { name: 'dripping MQTT logins', kind: 'drips', connections: 1_000, addresses: 10, port: mqttPort, text: 'x'.repeat(60_000) },
  ];
}

function tlsFloods({ mqttsPort: port }: LoadShop): Flood[] {
  return [
    { name: 'no flood', kind: 'requests', connections: 0 },
    { name: 'HTTPS handshakes', kind: 'handshakes', connections: 64, isTls: true },
    { name: 'MQTTS handshakes', kind: 'handshakes', connections: 64, isTls: true, port },
    { name: 'stalled HTTPS handshakes', kind: 'stalls', connections: 200 },
    { name: 'stalled MQTTS handshakes', kind: 'stalls', connections: 200, port },
    { name: 'wrong MQTTS logins', kind: 'logins', connections: 1_000, addresses: 10, isTls: true, port },
  ];
}

async function tlsSettings(): Promise<Settings> {
  const [cert, key] = ['cert', 'key'].map((name) => join(temporaryDirectory(), name)) as [string, string];
  writeFileSync(cert, selfSigned.cert);
  writeFileSync(key, selfSigned.key, { mode: 0o600 });
  return { TILLGATE_TLS_CERT: cert, TILLGATE_TLS_KEY: key, TILLGATE_MQTTS_PORT: String(await freePort()) };
}

/** Pays and closes until the time is over; the milliseconds of each Pay. */
async function payFor(till: Till, DeviceID: string, forMs: number): Promise<{ tookMs: number[]; failures: number }> {
  const tookMs: number[] = [];
  let failures = 0;
  const untilMs = performance.now() + forMs;
  while (performance.now() < untilMs) {
    const documentNr = randomUUID();
    const from = performance.now();
    const paid = await till.post('/Device/payment/Pay', { DeviceID, amount: 10, documentNr });
    tookMs.push(performance.now() - from);
    if (paid.errorCode !== 0) failures += 1;
    else await till.post('/Device/payment/CloseDoc', { DeviceID, documentNr, operationId: reportOf(paid)['operationId'] });
    await pause(10);
  }
  return { tookMs, failures };
}

export async function floods({ isShort, say }: SceneOptions): Promise<SceneResult> {
  const forMs = isShort ? 1_500 : 15_000;
  const startedAt = performance.now();
  const figures: SceneResult['figures'] = {};
  const checks: SceneResult['checks'] = [];

  async function measure(shop: LoadShop, { name, ...flood }: Flood): Promise<void> {
    const { protocol, hostname: host, port } = new URL(shop.baseUrl);
    const options: FloodOptions = { host, port: Number(port), forMs: forMs + 500, ...flood };
    const child = startChild('flood.ts', [JSON.stringify(options)]);
    const ended = new Promise((resolve) => child.once('exit', resolve));
    const { tookMs, failures } = await payFor(tillOf(shop), shop.deviceIds[0] ?? '', forMs);
    await ended;
    const { p50, p99, max } = spreadOf(tookMs);
    const what = `${name}${protocol === 'https:' ? ' (TLS)' : ''}`;
    say(`${what}: ${tookMs.length} payments, p50 ${p50} ms, p99 ${p99} ms, max ${max} ms; memory ${Math.round(shop.memory())} MB`);
    figures[`${what}, payment p99 ms`] = p99;
    checks.push({ what: `${what}, payments that failed`, value: failures, exactly: 0 });
    checks.push({ what: `${what}, payment p99 ms`, value: p99, atMost: boundMs(isShort) });
  }

  for (const [floodsOf, settings] of [
    [plainFloods, {}],
    [tlsFloods, await tlsSettings()],
  ] as const) {
    const shop = await openLoadShop({ devices: 1, holdMs: 0, settings: { ...usualLimits, ...settings }, say });
    try {
      for (const flood of floodsOf(shop)) await measure(shop, flood);
    } finally {
      await shop.stop();
    }
  }
  return { scene: 'floods', seconds: (performance.now() - startedAt) / 1000, figures, checks };
}
