// A running gateway, a merchant of its own and devices by somebody else, registered and paired by the API that everybody has.
import { type GatewayProcess, type Settings, startSandboxProcess, temporaryDirectory } from '../support/gateway-process.ts';
import { type Answer, createTill, eventually, type Till } from '../support/till.ts';
import { createForeignDevice, type Fields, type ForeignDevice, type Habits, type Pairing } from './foreign-device.ts';

export interface ForeignShop {
  till: Till;
  gateway: GatewayProcess;
  merchantId: string;
  apiKey: string;
  /** Registers and pairs a device; a code may be tried ten times a minute, so all but the first few ask for a new secret instead. */
  register(kind: 'terminal' | 'register', habits?: Habits): Promise<ForeignDevice>;
  pairing(kind: 'terminal' | 'register'): Promise<Answer>;
  /** A device that is live on the wires named. */
  live(kind: 'terminal' | 'register', on: 'mqtt' | 'queue' | 'both', habits?: Habits): Promise<ForeignDevice>;
  review(): Promise<Fields[]>;
  /** Of the command: its state, settledBy, and the steps of its timeline. */
  story(commandId: string): Promise<Answer>;
  metric(line: RegExp): Promise<number>;
  close(): Promise<void>;
}

export async function openForeignShop(settings: Settings = {}, start = startSandbox): Promise<ForeignShop> {
  const gateway = await start(settings);
  const { baseUrl, adminToken } = gateway;
  const cabinet = createTill({ baseUrl, adminToken, apiKey: '' });
  const { id: merchantId } = await cabinet.admin('/merchants', { name: 'Foreign devices' });
  const { key } = await cabinet.admin('/keys', { merchantId, name: 'ERP', modules: ['POS', 'QR', 'Fiscal'] });
  const till = createTill({ baseUrl, adminToken, apiKey: String(key) });
  let addresses: Pick<Pairing, 'mqttUrl' | 'queueUrl'> | undefined;

  const registerAt = (kind: string) =>
    till.admin('/devices', { merchantId, kind, name: `A foreign ${kind}`, ...(kind === 'terminal' ? { bank: 'maib' } : {}) });

  async function pairing(kind: string): Promise<Answer> {
    const { pairingCode } = await registerAt(kind);
    return (await (
      await fetch(`${baseUrl}/pairing`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ code: pairingCode }),
      })
    ).json()) as Answer;
  }

  async function register(kind: string, habits: Habits = {}): Promise<ForeignDevice> {
    if (!addresses) {
      const { deviceId, secret, mqtt, queue } = (await pairing(kind)) as Fields;
      addresses = { mqttUrl: mqtt.url, queueUrl: queue.url };
      return createForeignDevice({ deviceId, secret, ...addresses }, habits);
    }
    const { id } = await registerAt(kind);
    const { secret } = await till.admin(`/devices/${String(id)}/secret`, {});
    return createForeignDevice({ deviceId: String(id), secret: String(secret), ...addresses }, habits);
  }
  // The first one learns the addresses; nobody else may come before it is through.
  await register('terminal');

  return {
    till,
    gateway,
    merchantId: String(merchantId),
    apiKey: String(key),
    pairing,
    register,
    async live(kind, on, habits) {
      const device = await register(kind, habits);
      if (on !== 'queue') await device.onMqtt();
      if (on !== 'mqtt') await device.onQueue();
      await eventually(
        'the gateway knows the device',
        async () =>
          ((await till.admin(`/devices?merchantId=${String(merchantId)}`))['devices'] as Fields[]).find(({ id }) => id === device.deviceId),
        (listed) => listed?.['liveOn'].length === (on === 'both' ? 2 : 1),
      );
      return device;
    },
    review: async () => (await till.admin('/review'))['commands'] as Fields[],
    story: (commandId) => till.admin(`/commands/${commandId}`),
    async metric(line) {
      const text = await (await fetch(`${baseUrl}/metrics`, { headers: { authorization: `Bearer ${gateway.adminToken}` } })).text();
      return Number(line.exec(text)?.[1] ?? 0);
    },
    close: () => gateway.kill9(),
  };
}

function startSandbox(settings: Settings): Promise<GatewayProcess> {
  return startSandboxProcess(temporaryDirectory(), settings);
}
