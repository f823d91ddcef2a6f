// The sandbox: a gateway on embedded defaults with a demo merchant and virtual devices on the real wire, for trying things out.
// Started again on the same data directory it goes on with the same data, key, token and devices: they are kept in sandbox.json.
// Whoever finds that file knows that the sandbox is ready; while it starts, what an earlier run wrote stands in sandbox.earlier.json.
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { ensureDemo } from './access/demo.ts';
import type { Config } from './config.ts';
import { type DemoDevice, ensureDemoDevices, type WantedDevice } from './devices/demo.ts';
import { startGateway, type World } from './gateway.ts';
import { startVirtualDevice } from './virtual/run.ts';

export interface SandboxFile {
  baseUrl: string;
  apiKey: string;
  merchantId: string;
  adminToken: string;
  mqttUrl: string;
  queueUrl: string;
  /** A register has no bank. */
  devices: { id: string; kind: DemoDevice['kind']; name: string; bank: string | null; secret: string }[];
}

export interface Sandbox {
  file: SandboxFile;
  path: string;
  stop(): Promise<void>;
}

export async function startSandbox(config: Config, world: World): Promise<Sandbox> {
  mkdirSync(config.dataDir, { recursive: true });
  const path = join(config.dataDir, 'sandbox.json');
  const earlierPath = join(config.dataDir, 'sandbox.earlier.json');
  const remembered = readSandboxFile(path) ?? readSandboxFile(earlierPath);
  // Not before the data directory is ours: the file may be another sandbox's that runs in it.
  const setAside = () => {
    if (existsSync(path)) renameSync(path, earlierPath);
  };
  const adminToken = config.adminToken ?? remembered?.adminToken ?? Buffer.from(world.random.bytes(24)).toString('hex');
  const mqttPort = (await isPortFree(config.host, config.mqttPort)) ? config.mqttPort : 0;
  const gateway = await startGateway({ ...config, adminToken, mqttPort }, world, setAside);
  const stops: (() => Promise<void>)[] = [];
  const stop = async () => {
    // The devices last: calls in flight wait for them.
    await gateway.stop();
    await Promise.all(stops.map((stopOne) => stopOne()));
  };
  try {
    const { merchantId, apiKey } = await ensureDemo(gateway, remembered);
    const devices = await ensureDemoDevices(gateway.devices, merchantId, wantedDevices(config), remembered?.devices);
    const { baseUrl, mqttUrl, queueUrl } = gateway.addresses();
    for (const device of devices) {
      const virtual = await startVirtualDevice({
        ...world,
        kind: device.kind,
        deviceId: device.id,
        secret: device.secret,
        name: device.name,
        ...(device.bank === undefined ? {} : { bank: device.bank }),
        mqttUrl,
        queueUrl,
        stateDir: join(config.dataDir, 'devices', device.id),
      });
      stops.push(() => virtual.stop());
    }
    const shown = devices.map(({ id, kind, name, bank, secret }) => ({ id, kind, name, bank: bank ?? null, secret }));
    const file: SandboxFile = { baseUrl, apiKey, merchantId, adminToken, mqttUrl, queueUrl, devices: shown };
    writeSandboxFile(path, file);
    rmSync(earlierPath, { force: true });
    return { file, path, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function wantedDevices(config: Config): WantedDevice[] {
  const terminals = config.banks.map(({ code, name }) => ({ kind: 'terminal' as const, name: `Terminal ${name}`, bank: code }));
  return [...terminals, { kind: 'register', name: 'Register 1' }, { kind: 'register', name: 'Register 2' }];
}

/** What an earlier start left; a file that cannot be read is as good as none. */
export function readSandboxFile(path: string): SandboxFile | undefined {
  if (!existsSync(path)) return undefined;
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as SandboxFile;
  } catch {
    return undefined;
  }
}

function writeSandboxFile(path: string, file: SandboxFile): void {
  const draft = `${path}.new`;
  rmSync(draft, { force: true });
  writeFileSync(draft, `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600 });
  renameSync(draft, path);
}

/** A broker that runs on this machine already must not keep anybody from trying the sandbox. */
function isPortFree(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, host, () => probe.close(() => resolve(true)));
  });
}

/** What a newcomer sees: where it listens, the key, and commands that can be pasted as they are. */
export function describeSandbox({ file, path }: Sandbox): string {
  const { baseUrl, apiKey, adminToken, devices, mqttUrl, queueUrl } = file;
  const create = {
    APIKey: apiKey,
    CallbackURI: 'http://127.0.0.1:9000/paid?oid=#OID#&state=#State#&receipt=#ReceiptID#',
    Receipt: { Number: 'A-1', Items: [{ Name: 'Coffee', Quantity: 2, Price: 35 }] },
  };
  const terminal = devices.find((device) => device.kind === 'terminal');
  const pay = { APIKey: apiKey, DeviceID: terminal?.id, amount: 150.5 };
  const json = "-H 'Content-Type: application/json'";
  return [
    'Tillgate sandbox: a test environment. It moves no real money; do not use it in a shop.',
    '',
    `  Base URL       ${baseUrl}`,
    `  API key        ${apiKey}   (opens POS, QR and Fiscal)`,
    `  API reference  ${baseUrl}/docs`,
    `  Admin token    ${adminToken}`,
    `  Devices        ${mqttUrl} and ${queueUrl}`,
    ...devices.map((device) => `                 ${device.id}  ${device.kind.padEnd(8)}  ${device.name}`),
    `  All of this    ${path}`,
    '',
    'Create an invoice:',
    `  curl -s ${baseUrl}/Invoice/Create ${json} -d '${JSON.stringify(create)}'`,
    'Pay by card (an amount ending in .61 is declined, in .66 loses the answer; `tillgate simulate --help` lists them all):',
    `  curl -s ${baseUrl}/Device/payment/Pay ${json} -d '${JSON.stringify(pay)}'`,
    'Watch callbacks arrive (in another terminal):',
    '  npm run -s tillgate -- sink --port 9000',
    '',
    'Stop with Ctrl-C.',
  ].join('\n');
}
