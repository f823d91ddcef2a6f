// What a device says after the settlement, case by case: what is written, what a person sees, and what is counted.
import { beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import type { Command } from '../../src/ledger/command.ts';
import type { Finding } from '../../src/ledger/rules.ts';
import { type Contradictions, createContradictions } from '../../src/ledger/settling/contradictions.ts';
import { findCommand } from '../../src/ledger/store.ts';
import type { CommandEvent, Timeline } from '../../src/ledger/timeline.ts';
import { memoryDatabase } from '../support/engines.ts';
import { seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

let database: Database;
let contradictions: Contradictions;
let steps: Omit<CommandEvent, 'atMs'>[];
let merchantId: string;
let deviceId: string;

beforeEach(async () => {
  database = await memoryDatabase(createVirtualClock());
  merchantId = (await seedMerchant(database.queries)).id;
  deviceId = (await seedDevice(database.queries, merchantId)).id;
  steps = [];
  const timeline = { addCounted: (event: CommandEvent) => steps.push(event) } as unknown as Timeline;
  contradictions = createContradictions({ database, logger: quietLogger, timeline });
});

async function settled(overrides: Parameters<typeof seedCommand>[3]): Promise<Command> {
  const row = { settled_at: 1, settled_by: 'person', journal_id: 'j', ...overrides } as const;
  const { id } = await seedCommand(database.queries, merchantId, deviceId, row);
  return (await findCommand(database.queries, id)) as Command;
}
const refused = { state: 'refused' } as const;
const done = { state: 'done', document_state: 'closed' } as const;
const says = (outcome: Finding['outcome'], report?: Finding['report']): Finding => ({
  outcome,
  report,
  reason: undefined,
  journalId: 'j',
  wasAccepted: false,
});
const namesOfSteps = () => steps.map(({ step }) => step);

describe('a device that says that it is at it', () => {
  it('keeps the number of what was settled as not done, is on the list, and is told and counted once', async () => {
    const command = await settled(refused);
    const now = await contradictions.stillRuns(command);
    expect(now).toMatchObject({
      state: 'refused',
      contradictedAtMs: expect.any(Number),
      reviewReason: expect.stringContaining('is at it'),
    });
    await database.queries.updateTable('commands').set({ review_reason: 'seen' }).execute();
    expect(await contradictions.stillRuns(now)).toMatchObject({ reviewReason: 'seen' });
    expect(contradictions.count()).toBe(1);
    expect(namesOfSteps()).toEqual(['contradiction']);
  });

  it('says nothing new of what is done, or open', async () => {
    for (const row of [done, { state: 'unknown', settled_at: null, settled_by: null } as const]) {
      const command = await settled(row);
      expect(await contradictions.stillRuns(command)).toBe(command);
      await database.queries.deleteFrom('commands').execute();
    }
    expect(contradictions.count()).toBe(0);
  });
});

describe('a device that agrees', () => {
  it('completes what a person decided without its word, and nothing else', async () => {
    expect(await contradictions.compare(await settled(refused), says('refused'))).toMatchObject({ outcome: 'refused' });
    const heard = await settled({ ...refused, outcome: 'never' });
    expect(await contradictions.compare(heard, says('refused'))).toBe(heard);
    const answered = await settled({ ...refused, settled_by: 'answer' });
    expect(await contradictions.compare(answered, says('refused'))).toBe(answered);
    expect(namesOfSteps()).toEqual(['answered again', 'answered again', 'answered again']);
    expect(contradictions.count()).toBe(0);
  });

  it('brings what a person could not know of what was done; what it does not tell stays as it is', async () => {
    const agreed = await contradictions.compare(await settled({ ...done, rrn: '7' }), says('done', { receiptId: 3 }), {
      operationId: '1',
      receiptId: '3',
    });
    expect(agreed).toMatchObject({ outcome: 'done', settledBy: 'person', report: '{"receiptId":3}' });
    const row = await database.queries.selectFrom('commands').selectAll().executeTakeFirstOrThrow();
    expect(row).toMatchObject({ operation_id: '1', receipt_id: '3', rrn: '7' });
    const unreported = await contradictions.compare(await settled({ ...done, report: '{"of":"the person"}' }), says('done'), { rrn: '8' });
    expect(unreported).toMatchObject({ outcome: 'done', report: '{"of":"the person"}' });
  });

  it('completes a decision once, whatever another gateway saw a moment ago', async () => {
    const command = await settled(refused);
    await contradictions.compare(command, says('refused'));
    expect(await contradictions.compare(command, says('refused'))).toBe(command);
    expect(namesOfSteps()).toEqual(['answered again', 'answered again']);
  });

  it('or not of what is open again is for whoever settles it', async () => {
    const command = await settled({ state: 'unknown', settled_at: null, settled_by: null });
    expect(await contradictions.compare(command, says('done'))).toBe(command);
    expect(steps).toEqual([]);
  });

  it('may say more once it could not tell', async () => {
    const unsure = await settled({ ...refused, outcome: 'unknown' });
    expect(await contradictions.compare(unsure, says('refused'))).toMatchObject({ outcome: 'refused' });
  });
});

describe('a device that contradicts', () => {
  it('takes the number of what was settled as not done with it, whatever numbers its refusal had', async () => {
    const command = await settled({ ...refused, report: '{"operationId":"1"}' });
    const now = await contradictions.compare(command, says('done', { operationId: '2' }));
    expect(now).toMatchObject({ outcome: 'done', contradictedAtMs: expect.any(Number) });
    expect(now.reviewReason).toBe('The device now says "done", but the command was settled as "refused".');
  });

  it('of what was done keeps nothing: a no, and a second deed, which is named', async () => {
    const command = await settled({ ...done, report: '{"operationId":"1"}' });
    expect(await contradictions.compare(command, says('refused'))).toMatchObject({ outcome: 'refused', contradictedAtMs: null });
    const now = await contradictions.compare(command, says('done', { operationId: '2' }));
    expect(now.contradictedAtMs).toBeNull();
    expect(now.reviewReason).toContain('a second operation, 2, for a command that was settled with 1');
    expect(contradictions.count()).toBe(2);
  });
});
