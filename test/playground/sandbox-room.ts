// A sandbox in this process, with its playground behind the real HTTP API: devices on the embedded broker and the built-in queue, in real time.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { vi } from 'vitest';
import type { PlaygroundView } from '../../src/cabinet/playground/view-schema.ts';
import { startSandbox } from '../../src/cli/sandbox.ts';
import { readConfig } from '../../src/config.ts';
import { systemClock, systemRandom } from '../../src/kernel/system.ts';
import type { VirtualDevice } from '../../src/virtual/devices/virtual-device.ts';
import { type RecordingLogger, recordingLogger } from '../support/quiet-logger.ts';

export interface Answer {
  [field: string]: unknown;
  status: number;
  errorCode: number;
  errorMessage: string;
}

export interface SandboxRoom {
  baseUrl: string;
  adminToken: string;
  dataDir: string;
  logger: RecordingLogger;
  terminal: string;
  register: string;
  otherTerminal: string;
  deviceOf(id: string): VirtualDevice;
  merchantId: string;
  apiKey: string;
  read(): Promise<PlaygroundView>;
  post(path: string, body?: object): Promise<Answer>;
  /** Reads until it is so. */
  sees<Found>(find: (view: PlaygroundView) => Found | undefined | false): Promise<Found>;
  close(): Promise<void>;
}

const momentMs = 20;

export async function openSandboxRoom(settings: Record<string, string> = {}): Promise<SandboxRoom> {
  const dataDir = mkdtempSync(join(tmpdir(), 'tillgate-playground-'));
  const logger = recordingLogger();
  const config = readConfig('sandbox', {
    TILLGATE_DATA_DIR: dataDir,
    TILLGATE_PORT: '0',
    TILLGATE_MQTT_PORT: '0',
    TILLGATE_MQTTS_PORT: '0',
    TILLGATE_CALLBACK_DELAYS_S: '1,1,1,1,1',
    ...settings,
  });
  const sandbox = await startSandbox(config, { clock: systemClock, random: systemRandom, logger }, momentMs);
  const { baseUrl, adminToken, devices, merchantId, apiKey } = sandbox.file;
  const idOf = (wanted: string) => devices.find(({ kind }) => kind === wanted)?.id ?? '';

  async function call(method: string, path: string, body?: object): Promise<Answer> {
    const response = await fetch(`${baseUrl}/cabinet/api/playground${path}`, {
      method,
      headers: { authorization: `Bearer ${adminToken}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, ...((await response.json()) as Omit<Answer, 'status'>) } as Answer;
  }
  const read = async () => (await call('GET', '')) as unknown as PlaygroundView;

  const room: SandboxRoom = {
    baseUrl,
    adminToken,
    dataDir,
    logger,
    terminal: idOf('terminal'),
    register: idOf('register'),
    otherTerminal: devices.filter(({ kind }) => kind === 'terminal')[1]?.id ?? '',
    deviceOf(id) {
      const found = sandbox.devices.find(({ device }) => device.deviceId === id);
      if (!found) throw new Error(`There is no device ${id}.`);
      return found.device;
    },
    merchantId,
    apiKey,
    read,
    post: (path, body) => call('POST', path, body),
    sees: (find) => vi.waitUntil(async () => find(await read()), { timeout: 30_000, interval: 50 }),
    async close() {
      await sandbox.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
  // Devices come up a moment after the gateway.
  await room.sees(({ devices: all }) => all.every(({ channels }) => channels.every(({ isConnected }) => isConnected)));
  return room;
}
