// The ledger as a whole, with a link in the test's hand: what it does by itself, and that stopping it writes what is left and leaves nothing.
import { beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import { databaseDown } from '../../src/database/errors.ts';
import type { CommandPlan } from '../../src/ledger/calls/call.ts';
import type { Command } from '../../src/ledger/command.ts';
import { createLedger, type Ledger } from '../../src/ledger/ledger.ts';
import { findCommand } from '../../src/ledger/store.ts';
import { listEvents } from '../../src/ledger/timeline.ts';
import { fixDeadlines } from '../../src/link/carrying/deadlines.ts';
import type { AnswerMessage } from '../../src/link/wire-schemas.ts';
import { memoryDatabase } from '../support/engines.ts';
import { seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';
import { type RecordingLogger, recordingLogger } from '../support/quiet-logger.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

let clock: VirtualClock;
let database: Database;
let logger: RecordingLogger;
let ledger: Ledger;
let merchantId: string;
let deviceId: string;
let isAway: boolean;
let isLive: boolean;
let listening: Set<unknown>;
let carried: PromiseWithResolvers<unknown>;
let sayLate: (deviceId: string, answer: AnswerMessage) => void;

beforeEach(async () => {
  clock = createVirtualClock(undefined, { settle: 'microtasks' });
  database = await memoryDatabase(clock);
  logger = recordingLogger();
  merchantId = (await seedMerchant(database.queries)).id;
  deviceId = (await seedDevice(database.queries, merchantId)).id;
  isAway = false;
  isLive = true;
  listening = new Set();
  carried = Promise.withResolvers();
  const queries = database.queries.withPlugin({
    transformQuery({ node }) {
      if (isAway) throw databaseDown('away');
      return node;
    },
    transformResult: async ({ result }) => result,
  });
  const listen = (listener: unknown) => {
    listening.add(listener);
    return () => listening.delete(listener);
  };
  const deps = {
    database: { ...database, queries, onWake: (_topic: string, listener: unknown) => listen(listener) },
    clock,
    logger,
    random: seededRandom(1),
    instanceId: 'here',
    link: {
      presence: { isLiveAnywhere: () => isLive, journalOf: () => 'j' },
      deadlines: (_deviceId: string, answerWithinMs: number) => fixDeadlines(clock, 0, answerWithinMs),
      carry: () => carried.promise,
      onSeen: listen,
      onLateAnswer(listener: typeof sayLate) {
        sayLate = listener;
        return listen(listener);
      },
    },
  };
  ledger = createLedger(deps as unknown as Parameters<typeof createLedger>[0]);
});

const plan = async (): Promise<CommandPlan> => ({
  name: 'Refund',
  args: {},
  answerWithinMs: 60_000,
  journalId: 'j',
  preferredChannel: 'mqtt',
});
const call = () => ({ merchantId, deviceId, insertRejectsDuplicates: true });
async function command(overrides: object = {}): Promise<Command> {
  const other = { instance_id: 'here', answer_by: clock.now() + 300_000, next_recall_at: clock.now() * 2, name: 'Refund', ...overrides };
  const { id } = await seedCommand(database.queries, merchantId, (await seedDevice(database.queries, merchantId)).id, other);
  return latest(id);
}
const latest = async (id: string) => (await findCommand(database.queries, id)) as Command;
const refused = { state: 'refused', settled_at: 1, settled_by: 'answer' } as const;

it('removes Idempotency-Keys that are older than a day every ten minutes, also after a time when it could not', async () => {
  const key = { merchant_id: merchantId, request_hash: 'h', subject_kind: 'command', subject_id: 's' } as const;
  const left = async () => (await database.queries.selectFrom('idempotency_keys').select('key').execute()).map(({ key: name }) => name);
  await database.queries
    .insertInto('idempotency_keys')
    .values({ ...key, key: 'old', created_at: 1 })
    .execute();
  await database.queries
    .insertInto('idempotency_keys')
    .values({ ...key, key: 'new', created_at: clock.now() })
    .execute();
  ledger.start();
  await clock.advance(10 * 60_000 - 1);
  expect(await left()).toEqual(['new', 'old']);
  isAway = true;
  await clock.advance(1);
  isAway = false;
  expect(logger.lines.filter(({ message }) => message.includes('Idempotency-Keys'))).toHaveLength(1);
  await clock.advance(10 * 60_000);
  expect(await left()).toEqual(['new']);
  await ledger.stop();
});

it('knows the module of each command from its slice, and POS by default', async () => {
  ledger.define({ Report: {} });
  const modules = (['Report', 'Pay'] as const).map((name) => ledger.moduleOf({ name } as Command));
  expect(modules).toEqual(['Fiscal', 'POS']);
});

it('lets the slice of a command say which command has its number; a slice may have no such rule, and a command no slice', async () => {
  const seed = async (name: 'Pay' | 'Refund' | 'CloseDay') => {
    const device = await seedDevice(database.queries, merchantId);
    return (await findCommand(database.queries, (await seedCommand(database.queries, merchantId, device.id, { name })).id)) as Command;
  };
  const [payment, again, refund, close] = [await seed('Pay'), await seed('Pay'), await seed('Refund'), await seed('CloseDay')];
  ledger.define({ Pay: { findHolder: async ({ id }) => (id === payment.id ? again : undefined) }, Refund: {} });
  const found = [payment, again, refund, close].map((command) => ledger.findHolder(command));
  expect(await Promise.all(found)).toEqual([again, undefined, undefined, undefined]);
});

it('uses the cached owner of a connected device, and looks up the owner of an offline one', async () => {
  const own = () => ledger.ownDevice(merchantId, deviceId);
  expect(await own()).toMatchObject({ kind: 'terminal' });
  await database.queries.updateTable('devices').set({ disabled_at: 1 }).execute();
  expect(await own()).toMatchObject({ kind: 'terminal' });
  isLive = false;
  await expect(own()).rejects.toMatchObject({ errorName: 'Device_Offline' });
});

it('shows the steps of a command also while they are only gathered', async () => {
  const { id } = await command(refused);
  await ledger.askDevice(await latest(id), 'Ana');
  expect(await listEvents(database.queries, id)).toEqual([]);
  expect(await ledger.timelineOf(id)).toMatchObject([{ step: 'asked by person', detail: 'Ana: asked' }]);
  await ledger.stop();
});

describe('stopped', () => {
  it('it has written all gathered rows, and no listener or waiting caller is left', async () => {
    ledger.start();
    await clock.advance(1);
    const [accepted, told, shown] = [await command(), await command({ ...refused, request_hash: 'h' }), await command(refused)];
    sayLate(accepted.deviceId, { v: 1, id: accepted.id, device: accepted.deviceId, clock: '', outcome: 'accepted' });
    await clock.advance(1);
    isAway = true;
    ledger.outcomeDelivery.inferred(told);
    // Of this one nobody knows whether it was committed.
    await expect(ledger.run(call(), plan)).rejects.toThrow('away');
    isAway = false;
    await ledger.askDevice(shown, 'Ana');
    expect(clock.pending).toBeGreaterThan(4);
    await ledger.stop();
    expect([clock.pending, listening.size]).toEqual([0, 0]);
    expect((await latest(accepted.id)).acceptedAtMs).not.toBeNull();
    expect((await latest(told.id)).outcomeReceivedAtMs).not.toBeNull();
    expect(await listEvents(database.queries, shown.id)).toMatchObject([{ step: 'asked by person', detail: 'Ana: asked' }]);
  });

  it('it has waited for its commands in flight', async () => {
    ledger.start();
    const running = ledger.run(call(), plan);
    await clock.advance(1);
    expect(ledger.stats()).toEqual({ inFlight: 1, contradictions: 0 });
    let isStopped = false;
    const stopping = ledger.stop().then(() => {
      isStopped = true;
    });
    await clock.advance(1_000);
    expect(isStopped).toBe(false);
    carried.resolve({ kind: 'not-sent', reason: 'It was too late.' });
    await stopping;
    expect((await running).command).toMatchObject({ state: 'never', reason: 'It was too late.' });
    expect(ledger.stats().inFlight).toBe(0);
  });
});
