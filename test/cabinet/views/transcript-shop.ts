// The new core on a database with the rows of a transcript's state, and the API and the cabinet in front of it over HTTP. The devices are as
// connected as in that state, and silent: a command that is sent to them is counted.
import type { InjectOptions } from 'fastify';
import type { Ledger } from '../../../exploration/memory-store.ts';
import { aroundOf, now, type State, merchantId as shortMerchant } from '../../../exploration/world.ts';
import { createAccess } from '../../../src/access/access.ts';
import { createPeople } from '../../../src/access/people/people.ts';
import { createEventHub } from '../../../src/cabinet/events/event-hub.ts';
import { registerCabinetRoutes } from '../../../src/cabinet/routes.ts';
import { registerCardRoutes } from '../../../src/cards/routes.ts';
import type { Engine } from '../../../src/database/dialect.ts';
import { ConstraintViolation } from '../../../src/database/errors.ts';
import { createDevices } from '../../../src/devices/devices.ts';
import { createTokenCheck } from '../../../src/http/authentication.ts';
import { registerLedgerRoutes } from '../../../src/ledger/routes.ts';
import type { Link } from '../../../src/link/link.ts';
import type { DeviceSnapshot } from '../../../src/link/sightings.ts';
import { createMoneyRooms } from '../../../src/money/rooms.ts';
import { createFakeLink, snapshot } from '../../devices/fake-link.ts';
import { openQuickDatabase } from '../../support/engines.ts';
import { seedKey } from '../../support/fixtures.ts';
import { quietLogger } from '../../support/quiet-logger.ts';
import { seededRandom } from '../../support/seeded-random.ts';
import { prepareForLedgers, storeLedger } from '../../support/stored-ledger.ts';
import { createTestServer } from '../../support/test-server.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const maxWaits = 900;
const adminToken = 'canary-admin-token-of-the-transcripts';

export interface Answered {
  [field: string]: unknown;
  errorCode: number;
  errorMessage: string;
  OID?: string;
  State?: string;
  AlsoUnderThisNumber?: { OID: string; State: string }[];
}

/** The short names of transcripts as UUIDs, which the routes want: `p1`, `t1`, and `m`, the merchant. */
export function uuidOf(name: string): string {
  const digits = Buffer.from(name).toString('hex');
  return `eeeeeeee-0000-4000-8000-${digits.padStart(12, '0').slice(-12)}`;
}

/** A number that an ERP may send. */
export const numberOf = (number: string) => (isUuid(number) ? number : uuidOf(number));

export type TranscriptShop = Awaited<ReturnType<typeof createTranscriptShop>>;

export async function createTranscriptShop(engine: Engine) {
  const clock = createVirtualClock(now);
  const random = seededRandom(1);
  const logger = quietLogger;
  const database = await openQuickDatabase(engine, clock);
  const merchantId = uuidOf(shortMerchant);
  await prepareForLedgers(database.queries, merchantId);
  const { key } = await seedKey(database.queries, merchantId);
  const shared = { database, clock, random, logger, instanceId: 'gateway' };
  const fake = createFakeLink();
  const sent: string[] = [];
  const link = {
    ...fake,
    locate: async () => undefined,
    ask: async (deviceId: string, question: { name: string }) => {
      if (question.name === 'Abort') sent.push(deviceId);
      return undefined;
    },
    deadlines: () => ({}),
    carry: async ({ id }: { id: string }) => {
      sent.push(id);
      return { kind: 'silent' };
    },
  } as unknown as Link;
  const rooms = createMoneyRooms({ ...shared, link, callbacks: { wake() {} }, scanGraceS: 0, timeZone: 'Europe/Chisinau' });
  await rooms.invoices.start();
  const access = createAccess({ database, clock, random, maxKeys: 100 });
  const bounds = { maxUsers: 100, sessionIdleMs: 3_600_000, requiresTotp: false, isSandbox: false };
  const people = createPeople({ database, clock, random, logger, ...bounds, baseUrl: () => '' });
  const devices = createDevices({ database, clock, random, banks: [], addresses: () => ({ mqttUrl: 'mqtt://x', queueUrl: 'ws://x' }) });
  const events = createEventHub({ database, clock, logger, link, streamBounds: { maxPerUser: 6, maxPerMerchant: 8, maxInAll: 10 } });
  const server = createTestServer({
    ...{ basePath: '', logger, clock, random },
    findCaller: access.findCaller,
    findDevice: devices.checkSecret,
    isAdminToken: createTokenCheck(adminToken),
    findSession: people.findSession,
  });
  server.routes((app) => {
    const { cancelInvoice, rotateQrSecret, qrOf } = rooms.invoices;
    registerCabinetRoutes(app, {
      ...shared,
      ...{ access, people, devices, link, events, cancelInvoice, rotateQrSecret, qrOf },
      ...{ ledger: rooms.ledger, cards: rooms.cards, fiscal: rooms.fiscal, dryRuns: rooms.dryRuns },
      callbacks: { attempts: { resend: async () => undefined }, wake() {}, sendTest: async () => ({}) } as never,
      exportBounds: { maxAtOnce: 4, maxRows: 1_000 },
      playground: () => undefined,
      developerFacts: () => ({ magicAmounts: [] }),
      ...{ basePath: '', isSandbox: false, version: '1.2.3', banks: [] },
    });
    registerCardRoutes(app, rooms.cards);
    registerLedgerRoutes(app, { database, ledger: rooms.ledger });
  });

  /** A step of the state before may be written at the same moment, and refers to its rows. */
  async function stored(work: () => Promise<void>, tries = 5): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (tries === 0 || !(error instanceof ConstraintViolation)) throw error;
      await clock.settle();
      await stored(work, tries - 1);
    }
  }

  /** Advances the time until the call is answered. */
  async function call(request: InjectOptions): Promise<Answered> {
    let answer: Answered | undefined;
    let failure: Error | undefined;
    server.app.inject(request).then(
      (response) => void (answer = response.json()),
      (error: Error) => void (failure = error),
    );
    const isOver = () => answer !== undefined || failure !== undefined;
    // A server of a database needs real time.
    for (let waits = 0; waits < maxWaits && !isOver(); waits += 1) {
      for (let turns = 0; turns < 40 && !isOver(); turns += 1) await clock.settle();
      if (!isOver()) await clock.advance(1_000);
    }
    if (answer === undefined) throw failure ?? new Error('A call got no answer.');
    return answer;
  }
  const person = { authorization: `Bearer ${adminToken}` };

  return {
    clock,
    sent,
    random,
    /** The rows of the state, at its time. */
    async fill(state: State): Promise<void> {
      await clock.advance(60_000);
      // Writes the steps that wait, which refer to rows of the state before.
      await rooms.ledger.timelineOf('none');
      sent.length = 0;
      const names = namesIn(state);
      const { presence } = aroundOf(state);
      const renamed = Object.fromEntries(Object.entries(presence).map(([place, one]) => [place.split(' ').map(uuidOf).join(' '), one]));
      clock.setWallClock(now);
      await stored(() => storeLedger(database, withUuids(state.ledger, names), { presence: renamed }, merchantId));
      fake.snapshots.clear();
      for (const [place, { isOnline, journalId, features }] of Object.entries(presence)) {
        const seen = { journalId: journalId ?? undefined, features, liveOn: isOnline ? ['mqtt'] : [] } as Partial<DeviceSnapshot>;
        fake.snapshots.set(uuidOf(place.split(' ')[1] ?? ''), snapshot(seen));
      }
    },
    status: (by: 'OID' | 'documentNr' | 'ReceiptUid' | 'IdempotencyKey', name: string) =>
      call({ method: 'GET', url: `/Device/Operation/Status?${by}=${encodeURIComponent(name)}`, headers: { 'x-api-key': key } }),
    erp: (path: string, body: object) => call({ method: 'POST', url: path, payload: { APIKey: key, ...body } }),
    look: (path: string) => call({ method: 'GET', url: `/cabinet/api${path}`, headers: person }),
    act: (path: string, body: object = {}) =>
      call({
        method: 'POST',
        url: `/cabinet/api${path}`,
        payload: body,
        headers: { ...person, 'idempotency-key': random.uuid() },
      }),
    async close(): Promise<void> {
      events.stop();
      await server.app.close();
      await rooms.invoices.stop();
      access.stop();
      devices.stop();
      people.stop();
      await database.close();
    },
  };
}

function namesIn({ ledger, live }: State): string[] {
  const commands = Object.values(ledger['commands'] ?? {});
  const numbers = commands.flatMap((row) => [row['document_nr'], row['receipt_uid']]).filter((one) => one !== null && !isUuid(String(one)));
  return [...commands.map(({ id }) => String(id)), ...new Set(numbers.map(String)), ...Object.keys(live), shortMerchant];
}

const isUuid = (name: string) => /^[0-9a-f]{8}-/i.test(name);

/** As values, in lists, in keys, and in lists that are stored as text. */
function withUuids(ledger: Ledger, names: readonly string[]): Ledger {
  let text = JSON.stringify(ledger);
  for (const name of names) {
    const uuid = uuidOf(name);
    text = text.replaceAll(`"${name}"`, `"${uuid}"`).replaceAll(`\\"${name}\\"`, `\\"${uuid}\\"`);
    // The name of a content begins with its device.
    text = text.replaceAll(`\\u0001${name} `, `\\u0001${uuid} `);
  }
  return JSON.parse(text) as Ledger;
}
