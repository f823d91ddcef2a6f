// Steps are gathered and written beside the money path: soon, together, in their order, bounded; and a database that is away loses them.
import { beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import { databaseDown } from '../../src/database/errors.ts';
import { addEvents, createTimeline, listEvents, type Timeline } from '../../src/ledger/timeline.ts';
import { engines, memoryDatabase, openTestDatabase } from '../support/engines.ts';
import { seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';
import { type RecordingLogger, recordingLogger } from '../support/quiet-logger.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

it.each(engines)(
  'a storm of steps is written whole and in order on %s, and one that is no text costs none of the others',
  async (engine) => {
    const database = await openTestDatabase(engine);
    const { queries, close } = database;
    try {
      const { id: merchantId } = await seedMerchant(queries);
      const { id: deviceId } = await seedDevice(queries, merchantId);
      const { id: commandId } = await seedCommand(queries, merchantId, deviceId);
      const events = Array.from({ length: 10_000 }, (_, count) => ({ commandId, atMs: count, step: `step ${count}` }));
      await addEvents(database, [...events, { commandId, atMs: 10_000, step: 'cut', detail: 'half of a pair: \ud83d' }]);
      const written = await listEvents(queries, commandId);
      expect(written.map(({ step }) => step)).toEqual([...events.map(({ step }) => step), 'cut']);
      expect(written.at(-1)?.detail).toBe('half of a pair: \ufffd');
    } finally {
      await close();
    }
  },
);

it.each(engines)('long details on %s are written a mebibyte at a time, all of them', async (engine) => {
  const { queries, close } = await openTestDatabase(engine);
  let statements = 0;
  const counted = queries.withPlugin({
    transformQuery({ node }) {
      statements += 1;
      return node;
    },
    transformResult: async ({ result }) => result,
  });
  try {
    const { id: merchantId } = await seedMerchant(queries);
    const { id: deviceId } = await seedDevice(queries, merchantId);
    const { id: commandId } = await seedCommand(queries, merchantId, deviceId);
    const detail = 'x'.repeat(400_000);
    const events = Array.from({ length: 9 }, (_, atMs) => ({ commandId, atMs, step: `step ${atMs}`, detail }));
    await addEvents({ engine, queries: counted }, events);
    expect(statements).toBe(5);
    expect((await listEvents(queries, commandId)).map(({ atMs }) => atMs)).toEqual(events.map(({ atMs }) => atMs));
  } finally {
    await close();
  }
});

describe('a timeline', () => {
  let clock: VirtualClock;
  let database: Database;
  let logger: RecordingLogger;
  let timeline: Timeline;
  let commandId: string;
  let statements: number;
  let isAway: boolean;

  beforeEach(async () => {
    clock = createVirtualClock(1_000, { settle: 'microtasks' });
    database = await memoryDatabase(clock);
    logger = recordingLogger();
    const { id: merchantId } = await seedMerchant(database.queries);
    const { id: deviceId } = await seedDevice(database.queries, merchantId);
    commandId = (await seedCommand(database.queries, merchantId, deviceId)).id;
    statements = 0;
    isAway = false;
    const queries = database.queries.withPlugin({
      transformQuery({ node }) {
        statements += 1;
        if (isAway) throw databaseDown('away');
        return node;
      },
      transformResult: async ({ result }) => result,
    });
    timeline = createTimeline({ database: { ...database, queries }, clock, logger });
  });
  const written = () => listEvents(database.queries, commandId);

  it('is written 50 ms after the first step, all in one statement', async () => {
    timeline.add({ commandId, step: 'sent', channel: 'mqtt', detail: 'why' });
    await clock.advance(49);
    timeline.add({ commandId, step: 'settled', atMs: 7 });
    expect([await written(), statements]).toEqual([[], 0]);
    await clock.advance(1);
    expect(await written()).toEqual([
      { commandId, atMs: 1_000, step: 'sent', channel: 'mqtt', detail: 'why' },
      { commandId, atMs: 7, step: 'settled', channel: undefined, detail: undefined },
    ]);
    expect([statements, clock.pending]).toEqual([1, 0]);
    timeline.add({ commandId, step: 'later' });
    await clock.advance(50);
    expect(await written()).toHaveLength(3);
  });

  it('counts repeated steps after the others, and is written as soon', async () => {
    timeline.addCounted({ commandId, step: 'asked again', detail: 'first' });
    timeline.addCounted({ commandId, step: 'asked again', detail: 'second', atMs: 9 });
    await clock.advance(50);
    expect(await written()).toMatchObject([
      { step: 'asked again', detail: 'first', atMs: 1_000 },
      { step: 'asked again', detail: 'second', atMs: 9 },
    ]);
    expect(clock.pending).toBe(0);
  });

  it('is written at once at the end, and nothing is left to do', async () => {
    timeline.add({ commandId, step: 'sent' });
    await timeline.flush();
    expect(await written()).toHaveLength(1);
    expect(clock.pending).toBe(0);
    await timeline.flush();
    expect(await written()).toHaveLength(1);
  });

  it('drops steps that could not be written, logs it, and continues', async () => {
    isAway = true;
    for (const step of ['sent', 'settled']) timeline.add({ commandId, step });
    await clock.advance(50);
    expect(logger.lines).toMatchObject([{ level: 'warn', fields: { lost: 2 } }]);
    isAway = false;
    timeline.add({ commandId, step: 'later' });
    await clock.advance(50);
    expect(await written()).toMatchObject([{ step: 'later' }]);
  });

  it('keeps ten thousand steps that wait, and no more', async () => {
    for (let count = 0; count < 10_002; count += 1) timeline.add({ commandId, step: `step ${count}` });
    await timeline.flush();
    expect((await written()).at(-1)?.step).toBe('step 9999');
    // Five hundred to a statement.
    expect(statements).toBe(20);
    for (let count = 0; count < 501; count += 1) timeline.add({ commandId, step: `step ${count}` });
    await timeline.flush();
    expect(statements).toBe(22);
  });

  it('fills a statement up to exactly a mebibyte', async () => {
    const halves = ['x'.repeat(1024 * 512), 'x'.repeat(1024 * 512)];
    for (const detail of [...halves, '']) timeline.add({ commandId, step: 'long', detail });
    await timeline.flush();
    expect(statements).toBe(1);
    for (const detail of [...halves, 'x']) timeline.add({ commandId, step: 'long', detail });
    await timeline.flush();
    expect(statements).toBe(3);
    expect((await written()).map(({ detail }) => detail?.length)).toEqual([1024 * 512, 1024 * 512, 0, 1024 * 512, 1024 * 512, 1]);
  });
});
