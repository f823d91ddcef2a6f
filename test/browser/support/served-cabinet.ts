// A production gateway in this process, with merchants, their terminals and users with passwords. Its clock can jump, so that
// fifteen minutes pass at once, and its ledger can be read.
import { createLeapingClock, type LeapingClock } from '../../../scripts/screenshots/leaping-clock.ts';
import { readConfig } from '../../../src/config.ts';
import { startGateway } from '../../../src/gateway.ts';
import { systemRandom } from '../../../src/kernel/system.ts';
import type { VirtualDevice } from '../../../src/virtual/devices/virtual-device.ts';
import { startVirtualDevice } from '../../../src/virtual/run.ts';
import { serveSettings, serveToken, temporaryDirectory } from '../../support/gateway-process.ts';
import { quietLogger } from '../../support/quiet-logger.ts';
import { type Answer, createTill, eventually, type Till } from '../../support/till.ts';
import { type Front, startFront } from './front.ts';
import { type Invitation, invitedBy, type Login } from './invited.ts';

export interface Shop {
  merchantId: string;
  till: Till;
  terminal: string;
  device: VirtualDevice;
}

export interface ServedCabinet {
  front: Front;
  /** The URL for a browser. */
  cabinet: string;
  clock: LeapingClock;
  /** Calls with the admin token. */
  admin: Till['admin'];
  openShop(name: string): Promise<Shop>;
  /** Invites a user who has already set a password by the link. */
  invite(user: Invitation): Promise<Login>;
  /** Ledger rows of one document, oldest first. */
  commandsOf(documentNr: string): Promise<{ id: string; name: string; state: string; amount_bani: number | null; caller: string | null }[]>;
  stopGateway(): Promise<void>;
  startGateway(): Promise<void>;
  close(): Promise<void>;
}

export async function openServedCabinet(): Promise<ServedCabinet> {
  const settings = await serveSettings({
    TILLGATE_DATA_DIR: temporaryDirectory(),
    TILLGATE_CALLBACK_ALLOW: '127.0.0.0/8',
    // A test may leave a slow payment running, which ends with the file.
    TILLGATE_STOP_GRACE_S: '0',
  });
  const clock = createLeapingClock(Date.now(), { isFelt: true });
  const world = { clock, random: systemRandom, logger: quietLogger };
  const start = () => startGateway(readConfig('serve', settings), world);
  let gateway = await start();
  const { baseUrl } = gateway.addresses();
  const front = await startFront(Number(settings['TILLGATE_PORT']));
  const { admin } = createTill({ baseUrl, adminToken: serveToken, apiKey: '' });
  const devices: VirtualDevice[] = [];

  return {
    front,
    cabinet: `${front.origin}${new URL(baseUrl).pathname}/cabinet`,
    clock,
    admin,
    async openShop(name) {
      const merchantId = String((await admin('/merchants', { name }))['id']);
      const { key } = await admin('/keys', { merchantId, name: `ERP of ${name}`, modules: ['POS', 'QR', 'Fiscal'] });
      const till = createTill({ baseUrl, adminToken: serveToken, apiKey: String(key) });
      const device = { merchantId, kind: 'terminal' as const, name: `Till of ${name}`, bank: 'maib', pointOfSalesCode: 'S-1' };
      const { id } = await admin('/devices', device);
      const deviceId = String(id);
      const { secret } = await gateway.devices.newSecret('test', deviceId);
      const { mqttUrl, mqttPlainUrl, queueUrl } = gateway.addresses();
      const virtual = await startVirtualDevice({
        ...world,
        ...device,
        deviceId,
        secret,
        mqttUrl: mqttPlainUrl ?? mqttUrl,
        queueUrl,
        stateDir: temporaryDirectory(),
        vat: readConfig('serve', settings).vat,
        limitShiftTo24h: false,
        timing: { customerMs: 20, slowMs: 60_000 },
      });
      devices.push(virtual);
      await eventually(
        `the terminal of ${name} is online`,
        () => till.get('/Device/Device/Status', { DeviceID: deviceId }),
        ({ errorCode }) => errorCode === 0,
      );
      return { merchantId, till, terminal: deviceId, device: virtual };
    },
    invite: (user) => invitedBy(baseUrl, admin, user),
    commandsOf: (documentNr) =>
      gateway.database.queries
        .selectFrom('commands')
        .select(['id', 'name', 'state', 'amount_bani', 'caller'])
        .where('document_nr', '=', documentNr)
        .orderBy('issued_at')
        .execute(),
    stopGateway: () => gateway.stop(),
    async startGateway() {
      gateway = await start();
    },
    async close() {
      await front.stop();
      await gateway.stop();
      await Promise.all(devices.map((device) => device.stop()));
    },
  };
}

/** A card payment, with the path of its page in the cabinet. */
export async function paid(shop: Shop, amount: number): Promise<{ documentNr: string; answer: Answer; path: string }> {
  const documentNr = crypto.randomUUID();
  const answer = await shop.till.post('/Device/payment/Pay', { DeviceID: shop.terminal, amount, documentNr });
  return { documentNr, answer, path: `/payments/${String(answer['OID'])}` };
}

/** Closes the document, which frees the terminal. */
export async function closed(shop: Shop, { documentNr, answer }: { documentNr: string; answer: Answer }): Promise<void> {
  const { operationId } = JSON.parse(answer.report ?? '{}') as { operationId: string };
  await shop.till.post('/Device/payment/CloseDoc', { DeviceID: shop.terminal, documentNr, operationId });
}
