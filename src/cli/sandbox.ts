// The sandbox: a test gateway on embedded defaults with a demo merchant and virtual devices that use the real protocol.
// Restarted on the same data directory, it reuses data, key, token and devices, which sandbox.json stores. The file exists only while the
// sandbox is ready; during a start the file of an earlier run is named sandbox.earlier.json.
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { readSigningSecrets } from '../callbacks/signing-secrets.ts';
import { type ProcessWorld, startGateway } from '../gateway.ts';
import { createEther, startPlayground } from '../playground/playground.ts';
import type { ShopDevice } from '../playground/shop.ts';
import type { Config } from '../settings.ts';
import { magicNames } from '../virtual/mishaps/magic-amounts.ts';
import { startVirtualDevice } from '../virtual/run.ts';
import type { FaultPort } from '../wiring/fault-header.ts';
import { ensureDemoDevices, type WantedDevice } from './demo-devices.ts';
import { ensureDemo } from './demo-merchant.ts';
import { isPortFree } from './free-port.ts';
import { readSandboxFile, type SandboxFile, writeSandboxFile } from './sandbox-file.ts';

/** Pause between the actions of people in the playground's stories. */
const defaultMomentMs = 700;

export async function startSandbox(config: Config, world: ProcessWorld, momentMs = defaultMomentMs) {
  mkdirSync(config.dataDir, { recursive: true, mode: 0o700 });
  const path = join(config.dataDir, 'sandbox.json');
  const earlierPath = join(config.dataDir, 'sandbox.earlier.json');
  const remembered = readSandboxFile(path) ?? readSandboxFile(earlierPath);
  // Only after the data directory is locked: the file may belong to another sandbox that runs in it.
  const setAside = () => {
    if (existsSync(path)) renameSync(path, earlierPath);
  };
  const adminToken = config.adminToken ?? remembered?.adminToken ?? Buffer.from(world.random.bytes(24)).toString('hex');
  const mqttPort = await portToTake(config, 'mqttPort');
  const mqttsPort = await portToTake(config, 'mqttsPort');
  const gateway = await startGateway({ ...config, adminToken, mqttPort, mqttsPort }, world, setAside);
  const stops: (() => Promise<void>)[] = [];
  let stopPlayground = async () => {};
  const stop = async () => {
    // First: its till may wait for answers, and a device for a person.
    await stopPlayground();
    // The gateway before the devices: calls in flight wait for devices.
    await gateway.stop();
    await Promise.all(stops.map((stopOne) => stopOne()));
  };
  try {
    const { merchantId, apiKey } = await ensureDemo(gateway, remembered);
    const [callbackSecret = ''] = await readSigningSecrets(gateway.database.queries, merchantId);
    const devices = await ensureDemoDevices(gateway.devices, merchantId, wantedDevices(config), remembered?.devices);
    const { baseUrl, mqttPlainUrl, queueUrl, ...others } = gateway.addresses();
    const mqttUrl = mqttPlainUrl ?? others.mqttUrl;
    const ether = createEther(world.clock);
    const started: ShopDevice[] = [];
    for (const { id: deviceId, kind, name, bank, secret } of devices) {
      const login = { deviceId, kind, name, bank, secret, mqttUrl, queueUrl };
      const device = await startVirtualDevice({
        ...world,
        ...login,
        stateDir: join(config.dataDir, 'devices', deviceId),
        vat: config.vat,
        limitShiftTo24h: config.limitShiftTo24h,
        watch: ether.wire.watch(deviceId),
      });
      stops.push(device.stop);
      started.push({ device, secret, bank });
    }
    const playground = await startPlayground({
      ...world,
      database: gateway.database,
      merchantId,
      apiKey,
      baseUrl,
      devices: started,
      ether,
      momentMs,
      tell: (version) => gateway.events.tell([{ merchantId, hint: { kind: 'playground', id: 'playground', version } }]),
    });
    stopPlayground = playground.stop;
    gateway.setPlayground(playground);
    gateway.setFaults(faultsOf(merchantId, started));
    const shown = devices.map(({ id, kind, name, bank, secret }) => ({ id, kind, name, bank: bank ?? null, secret }));
    const file: SandboxFile = { baseUrl, apiKey, merchantId, callbackSecret, adminToken, mqttUrl, queueUrl, devices: shown };
    gateway.setDemo({ apiKey, devices: shown.map(({ id, kind, name }) => ({ id, kind, name })) });
    writeSandboxFile(path, file);
    rmSync(earlierPath, { force: true });
    return {
      file,
      path,
      /** The devices in this process. */
      devices: started,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Applies the header Tillgate-Fault to the demo merchant's devices. */
function faultsOf(merchantId: string, devices: readonly ShopDevice[]): FaultPort {
  return {
    select(request) {
      const device = devices.find((one) => one.device.deviceId === request.deviceId)?.device;
      if (device === undefined || request.merchantId !== merchantId) return undefined;
      const names = magicNames(device.kind);
      const magic = names.find((name) => name === request.fault);
      return magic === undefined ? names : device.mishaps.select({ magic, document: request.document });
    },
  };
}

/** One shop, so that its day can be closed and compared. */
const pointOfSalesCode = 'DEMO-01';

function wantedDevices(config: Config): WantedDevice[] {
  const terminals = config.banks.map(({ code, name }) => ({
    kind: 'terminal' as const,
    name: `Terminal ${name}`,
    bank: code,
    pointOfSalesCode,
  }));
  return [
    ...terminals,
    { kind: 'register', name: 'Register 1', pointOfSalesCode },
    { kind: 'register', name: 'Register 2', pointOfSalesCode },
  ];
}

/**
 * A broker that already runs on this machine must not prevent a start. A configured port is kept, because devices are set to it: if it is
 * in use, the start fails.
 */
async function portToTake(config: Config, name: 'mqttPort' | 'mqttsPort'): Promise<number> {
  return config.given.has(name) || (await isPortFree(config.host, config[name])) ? config[name] : 0;
}
