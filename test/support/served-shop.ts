// A shop on a `serve` gateway with devices as processes of their own: what the fault tests pull the plugs of.
import { join } from 'node:path';
import type { Faults } from '../../src/virtual/mishaps/faults.ts';
import {
  type GatewayProcess,
  type Program,
  type Settings,
  startDeviceProcess,
  startServeProcess,
  temporaryDirectory,
} from './gateway-process.ts';
import { createTill, eventually, type Till } from './till.ts';

export interface ShopDevice {
  readonly id: string;
  readonly kind: 'terminal' | 'register';
  readonly stateDir: string;
  program: Program;
  /** Starts it again from its state directory; resolves when it is on the wire or, without `isAwaited`, at once. */
  restart(isAwaited?: boolean): Promise<void>;
}

export interface Shop {
  readonly settings: Settings;
  readonly till: Till;
  readonly merchantId: string;
  gateway: GatewayProcess;
  /** With more settings for this one life. */
  restartGateway(more?: Settings): Promise<void>;
  addDevice(kind: 'terminal' | 'register', options?: { slowMs?: number; faults?: Partial<Faults> }): Promise<ShopDevice>;
  /** Until the gateway hears the device; with a channel, on that one. */
  online(deviceId: string): Promise<void>;
  close(): Promise<void>;
}

/** `behind`: the address of a proxy in front of the gateway, which tills and devices use instead of its own. */
export async function openShop(settings: Settings, behind?: { host: string }): Promise<Shop> {
  const devices: ShopDevice[] = [];
  const gateway = await startServeProcess(settings);
  const { adminToken } = gateway;
  const baseUrl = behind ? gateway.baseUrl.replace(/\/\/[^/]+/, `//${behind.host}`) : gateway.baseUrl;
  const admin = createTill({ baseUrl, adminToken, apiKey: '' });
  const { id: merchantId } = await admin.admin('/merchants', { name: 'Shop' });
  const { key } = await admin.admin('/keys', { merchantId, name: 'ERP', modules: ['POS', 'QR', 'Fiscal'] });
  const till = createTill({ baseUrl, adminToken, apiKey: String(key) });

  async function online(deviceId: string): Promise<void> {
    await eventually(
      `device ${deviceId} is online`,
      () => till.get('/Device/Device/Status', { DeviceID: deviceId }),
      ({ errorCode }) => errorCode === 0,
    );
  }

  const shop: Shop = {
    settings,
    till,
    merchantId: String(merchantId),
    gateway,
    online,
    async restartGateway(more = {}) {
      shop.gateway = await startServeProcess({ ...settings, ...more });
    },
    async addDevice(kind, options = {}) {
      const created = await till.admin('/devices', {
        merchantId,
        kind,
        name: `A ${kind}`,
        ...(kind === 'terminal' ? { bank: 'maib' } : {}),
      });
      const stateDir = join(temporaryDirectory(), kind);
      const pairing = { baseUrl, code: String(created['pairingCode']) };
      const device: ShopDevice = {
        id: String(created['id']),
        kind,
        stateDir,
        program: await startDeviceProcess({ kind, stateDir, pairing, ...options }),
        async restart(isAwaited = true) {
          device.program = await startDeviceProcess({ kind, stateDir, ...options });
          if (isAwaited) await online(device.id);
        },
      };
      devices.push(device);
      await online(device.id);
      return device;
    },
    async close() {
      await Promise.all([shop.gateway.kill9(), ...devices.map(({ program }) => program.kill9())]);
    },
  };
  return shop;
}
