// Mosquitto and RabbitMQ with TLS as docs/operating.md writes it: the lines are taken from the page, and only paths and ports are changed.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { selfSigned } from '../http/self-signed.ts';
import { freePort } from '../support/free-port.ts';
import {
  type Program,
  patienceMs,
  runProgram,
  serveSettings,
  startProgram,
  startServeProcess,
  temporaryDirectory,
} from '../support/gateway-process.ts';
import { type MosquittoServer, startMosquitto } from '../support/servers/mosquitto.ts';
import { type RabbitmqServer, startRabbitmq } from '../support/servers/rabbitmq.ts';
import { createTill, eventually, reportOf } from '../support/till.ts';

const page = readFileSync(new URL('../../docs/operating.md', import.meta.url), 'utf8');
const slowTest = { timeout: 4 * patienceMs };

function shown(marker: string): string {
  const text = new RegExp(`<!-- ${marker}:[^>]*-->\n\`\`\`\n([\\s\\S]*?)\n\`\`\``).exec(page)?.[1];
  return text ?? expect.fail(`docs/operating.md shows no ${marker}`);
}

const directory = temporaryDirectory();
const root = join(directory, 'broker.pem');
let mosquitto: MosquittoServer;
let rabbitmq: RabbitmqServer;
let urls: Record<'TILLGATE_MQTT_URL' | 'TILLGATE_QUEUE_URL', string>;

beforeAll(async () => {
  writeFileSync(root, selfSigned.cert);
  writeFileSync(join(directory, 'broker.key'), selfSigned.key);
  const here = (text: string) => text.replaceAll('/etc/tillgate/tls', directory);
  const [amqps, mqtts] = [await freePort(), await freePort()];
  const rabbitmqLines = here(shown('rabbitmq tls'))
    .replace('0.0.0.0:5671', `127.0.0.1:${amqps}`)
    .replace('0.0.0.0:8883', `127.0.0.1:${mqtts}`)
    // The test's own listeners stay, by which it knows that the server is up.
    .replaceAll(/^(mqtt\.)?listeners\.tcp = none\n/gm, '');
  mosquitto = await startMosquitto({ config: `${here(shown('mosquitto tls'))}\nallow_anonymous true` });
  rabbitmq = await startRabbitmq({ config: rabbitmqLines });
  urls = { TILLGATE_MQTT_URL: `mqtts://127.0.0.1:${mosquitto.port}`, TILLGATE_QUEUE_URL: `amqps://tillgate:tillgate@127.0.0.1:${amqps}` };
}, 6 * patienceMs);
afterAll(async () => {
  await mosquitto?.stop();
  await rabbitmq?.stop();
});

async function diagnose(more: Record<string, string>): Promise<string[]> {
  const settings = await serveSettings({
    TILLGATE_DATA_DIR: temporaryDirectory(),
    TILLGATE_BROKER_TOKEN: 'x'.repeat(24),
    ...urls,
    ...more,
  });
  const { out, err } = await runProgram(['doctor', '--json'], settings);
  expect(err).toBe('');
  const { findings } = JSON.parse(out) as { findings: { check: string; verdict: string; says: string }[] };
  return findings.filter(({ check }) => /mqtt broker|queue$/.test(check)).map(({ verdict, says }) => `${verdict}: ${says}`);
}

it('lets the gateway in that knows the root, and a gateway that does not says what is missing', slowTest, async () => {
  expect(await diagnose({ NODE_EXTRA_CA_CERTS: root })).toEqual([expect.stringMatching(/^ok: /), expect.stringMatching(/^ok: /)]);
  const untrusting = await diagnose({});
  expect(untrusting).toHaveLength(2);
  for (const says of untrusting) expect(says).toMatch(/^bad: .*self-signed.*NODE_EXTRA_CA_CERTS/);
});

it('carries a payment over MQTT with TLS', slowTest, async () => {
  const trusting = { NODE_EXTRA_CA_CERTS: root };
  const { TILLGATE_MQTT_URL } = urls;
  const gateway = await startServeProcess(await serveSettings({ TILLGATE_DATA_DIR: temporaryDirectory(), TILLGATE_MQTT_URL, ...trusting }));
  let device: Program | undefined;
  try {
    const admin = createTill({ ...gateway, apiKey: '' });
    const { id: merchantId } = await admin.admin('/merchants', { name: 'Shop' });
    const { key } = await admin.admin('/keys', { merchantId, name: 'ERP', modules: ['POS'] });
    const created = await admin.admin('/devices', { merchantId, kind: 'terminal', name: 'Till', bank: 'maib' });
    const till = createTill({ ...gateway, apiKey: String(key) });
    // Only this channel, so that nothing else can have carried it.
    const faults = join(directory, 'faults.json');
    writeFileSync(faults, JSON.stringify({ queue: false }));
    const pairing = ['--url', gateway.baseUrl, '--pair', String(created['pairingCode']), '--state-dir', temporaryDirectory()];
    device = startProgram(['simulate', '--kind', 'terminal', ...pairing, '--faults', faults], trusting);
    const DeviceID = String(created['id']);
    await eventually(
      'the terminal is online',
      () => till.get('/Device/Device/Status', { DeviceID }),
      ({ errorCode }) => errorCode === 0,
    );
    expect(reportOf(await till.post('/Device/payment/Pay', { DeviceID, amount: '12.00' }))).toMatchObject({ amount: 12 });
  } finally {
    await device?.kill9();
    await gateway.kill9();
  }
});
