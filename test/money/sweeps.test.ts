// Which operations the sweeps of the new core select, and what people do beside them: the statements on each engine.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Link } from '../../src/link/link.ts';
import { createMoneyCore } from '../../src/money/money.ts';
import * as sweeps from '../../src/money/sweeps.ts';
import { engines, openQuickDatabase, type TestDatabase } from '../support/engines.ts';
import { seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

const minuteMs = 60_000;
const own = { instanceId: 'here' };

describe.each(engines)('the sweeps on %s', (engine) => {
  let database: TestDatabase;
  let clock: VirtualClock;
  let merchantId: string;

  beforeEach(async () => {
    clock = createVirtualClock();
    database = await openQuickDatabase(engine, clock);
    merchantId = (await seedMerchant(database.queries)).id;
    const living = { host: 'h', pid: 1, embedded: '', started_at: 1, heartbeat_at: clock.now() * 2, stopped_at: null };
    await database.queries
      .insertInto('instances')
      .values(['here', 'there'].map((id) => ({ ...living, id })))
      .execute();
  });
  afterEach(() => database.close());

  type Overrides = Parameters<typeof seedCommand>[3];
  /** Each on a device of its own, because an open one locks it. */
  async function operation(overrides: Overrides = {}): Promise<{ id: string; deviceId: string }> {
    const { id: deviceId } = await seedDevice(database.queries, merchantId);
    const sent = { instance_id: 'here', journal_id: 'journal', answer_by: clock.now() + minuteMs };
    return { ...(await seedCommand(database.queries, merchantId, deviceId, { ...sent, ...overrides })), deviceId };
  }
  const decided = (overrides: Overrides = {}) =>
    operation({ state: 'refused', settled_by: 'person', settled_at: clock.now() - 1, is_to_confirm: 1, is_unconfirmed: 1, ...overrides });
  const idsOf = (rows: readonly { id: string }[]) => rows.map(({ id }) => id).toSorted();
  const sorted = (...ids: { id: string }[]) => idsOf(ids);

  it('ask about open operations of this gateway and of dead ones, when a question is due', async () => {
    const fresh = await operation();
    const due = await operation({ state: 'unknown', next_recall_at: clock.now() - 1 });
    const orphaned = await operation({ instance_id: 'dead' });
    await operation({ state: 'unknown', next_recall_at: clock.now() + 1_000 });
    await operation({ instance_id: 'there' });
    await operation({ state: 'done', document_state: 'closed', settled_by: 'answer', settled_at: clock.now() });
    expect(idsOf(await sweeps.dueForRecall(database.queries, own, 10))).toEqual(sorted(fresh, due, orphaned));
    expect(await sweeps.dueForRecall(database.queries, own, 2)).toHaveLength(2);
    const [first] = await sweeps.dueForRecall(database.queries, own, 1);
    expect(first).toMatchObject({ journalId: 'journal', state: expect.any(String), deviceId: expect.any(String) });
  });

  it('end what no call executes any more, and list what is unknown for a quarter of an hour', async () => {
    const abandoned = await operation({ answer_by: clock.now() - 6_000 });
    await operation({ answer_by: clock.now() - 4_000 });
    await operation({ answer_by: clock.now() - 6_000, instance_id: 'there' });
    const overdue = await operation({ state: 'unknown', answer_by: clock.now() - 16 * minuteMs, instance_id: 'there' });
    await operation({ state: 'unknown', answer_by: clock.now() - 16 * minuteMs, review_since: 1, review_reason: 'why' });
    await operation({ state: 'unknown', answer_by: clock.now() - 14 * minuteMs });
    expect(await sweeps.abandoned(database.queries, { ...own, graceMs: 5_000 }, 10)).toEqual([{ id: abandoned.id }]);
    expect(await sweeps.overdue(database.queries, { graceMs: 15 * minuteMs }, 10)).toEqual([{ id: overdue.id }]);
  });

  it('ask devices that are back about what this gateway left open, and about decisions', async () => {
    const open = await operation();
    const others = await operation({ instance_id: 'there' });
    const wrongNo = await decided();
    const away = await operation();
    const back = [open, others, wrongNo].map(({ deviceId }) => deviceId);
    const left = await sweeps.leftBy(database, own, back);
    expect(idsOf(left.open)).toEqual([open.id]);
    expect(left.withDecisions).toEqual([wrongNo.deviceId]);
    expect(idsOf((await sweeps.leftBy(database, own, [away.deviceId])).open)).toEqual([away.id]);
  });

  it('ask first about what was sent to the journal that is back, then about young decisions', async () => {
    const days = (count: number) => clock.now() - count * 24 * 60 * minuteMs;
    const { id: deviceId } = await decided({ settled_at: days(30) }).then(({ deviceId: id }) => ({ id }));
    const more = (overrides: Overrides) =>
      seedCommand(database.queries, merchantId, deviceId, {
        ...{ state: 'refused', settled_by: 'person', settled_at: days(1), is_to_confirm: 1, instance_id: 'here', ...overrides },
      });
    const young = await more({ journal_id: 'another' });
    await more({ journal_id: 'another', settled_at: days(8) });
    await more({ journal_id: 'journal', is_to_confirm: 0 });
    const lost = await more({ journal_id: null, is_hardware_lost: 1 });
    const found = await sweeps.decisionsOf(database.queries, { ...own, deviceId, journalId: 'journal' });
    expect(found.map(({ journalId }) => journalId)).toEqual(['journal', 'another']);
    expect(found[1]?.id).toBe(young.id);
    expect(idsOf(await sweeps.decisionsOf(database.queries, { ...own, deviceId, journalId: '' }))).toEqual(sorted(young, lost));
  });

  it('ask about a decision again when it is twice as old', async () => {
    const one = await decided({ settled_at: clock.now() - 1_000 });
    const young = await decided({ settled_at: clock.now() - 5 * minuteMs });
    const old = await decided({ settled_at: clock.now() - 600 * minuteMs, state: 'done', document_state: 'closed', is_unconfirmed: 0 });
    await decided({ journal_id: null });
    await decided({ settled_at: clock.now() - 8 * 24 * 60 * minuteMs });
    expect(idsOf(await sweeps.dueDecisions(database.queries, own, 10))).toEqual(sorted(one, young, old));
    const pauses = async ({ id }: { id: string }) => {
      expect(await sweeps.takeDecision(database.queries, { ...own, id })).toBe(true);
      expect(await sweeps.takeDecision(database.queries, { instanceId: 'there', id })).toBe(false);
      const row = await database.queries.selectFrom('commands').select('next_recall_at').where('id', '=', id).executeTakeFirstOrThrow();
      return (row.next_recall_at ?? 0) - clock.now();
    };
    expect([await pauses(one), await pauses(young), await pauses(old)]).toEqual([10_000, 5 * minuteMs, 60 * minuteMs]);
    expect(await sweeps.dueDecisions(database.queries, own, 10)).toEqual([]);
    expect(await sweeps.waitingDecisions(database.queries)).toHaveLength(4);
  });

  it('forget keys a day after the end, or after the last answer 3', async () => {
    const dayAgo = clock.now() - 25 * 60 * minuteMs;
    const ended = await operation({ state: 'done', document_state: 'closed', settled_by: 'answer', settled_at: dayAgo });
    const missed = await operation({
      state: 'done',
      document_state: 'closed',
      settled_by: 'answer',
      settled_at: dayAgo,
      outcome_missed_at: clock.now() - minuteMs,
    });
    const open = await operation();
    const row = (key: string, id: string, at: number) => ({
      ...{ merchant_id: merchantId, key, request_hash: 'h', subject_kind: 'command' as const, subject_id: id, created_at: at },
    });
    const rows = [
      row('ended', ended.id, dayAgo),
      row('missed', missed.id, dayAgo),
      row('open', open.id, dayAgo),
      row('young', ended.id, clock.now()),
    ];
    await database.queries.insertInto('idempotency_keys').values(rows).execute();
    await sweeps.sweepKeys(database.queries);
    const kept = await database.queries.selectFrom('idempotency_keys').select('key').execute();
    expect(kept.map(({ key }) => key).toSorted()).toEqual(['missed', 'open', 'young']);
  });

  describe('a person', () => {
    const core = () =>
      createMoneyCore({
        ...{ database, clock, logger: quietLogger, random: seededRandom(1), instanceId: 'here', scanGraceS: 0 },
        callbacks: { wake: () => {} },
        link: { presence: { isLiveAnywhere: () => false, journalOf: () => undefined, of: () => undefined } } as unknown as Link,
      });
    const steps = (id: string) =>
      database.queries.selectFrom('command_events').select(['step', 'detail']).where('command_id', '=', id).orderBy('id').execute();
    const audits = () => database.queries.selectFrom('audit_log').select(['actor', 'action', 'subject', 'merchant_id', 'detail']).execute();

    it('decides, and the entry in the audit log is in the same commit', async () => {
      const { id } = await operation({ state: 'unknown', answer_by: clock.now() - 3 * minuteMs, next_recall_at: clock.now() + minuteMs });
      const { steps: people } = core();
      const decision = { state: 'refused', reason: 'Not in the list.', actor: 'Ana' } as const;
      const audit = { actor: 'Ana', action: 'command.decide', subject: id, detail: { state: 'refused' } };
      // An entry that cannot be stored: nothing is decided without it.
      await expect(people.decide(id, decision, { ...audit, action: null as unknown as string })).rejects.toThrow();
      expect(await people.find(id)).toMatchObject({ state: 'unknown' });
      expect(await people.decide(id, decision, audit)).toMatchObject({ state: 'refused', settledBy: 'person' });
      expect(await audits()).toEqual([
        { actor: 'Ana', action: 'command.decide', subject: id, merchant_id: merchantId, detail: '{"state":"refused"}' },
      ]);
      expect(await steps(id)).toEqual([{ step: 'decided', detail: 'Ana: refused, Not in the list.' }]);
      const row = await database.queries.selectFrom('commands').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
      expect(row).toMatchObject({ is_to_confirm: 1, is_unconfirmed: 1, next_recall_at: null });
      // A refusal writes none.
      await expect(people.decide(id, decision, audit)).rejects.toMatchObject({ errorName: 'The_status_cannot_be_applied' });
      expect(await audits()).toHaveLength(1);
    });

    it('declares hardware lost, which is counted and listed with each decision', async () => {
      const { id, deviceId } = await operation({ state: 'unknown', answer_by: clock.now() - 3 * minuteMs });
      const { steps: people } = core();
      await people.decide(id, { state: 'refused', reason: 'No.', actor: 'Ana' });
      const lost = { deviceId, actor: 'Ana', reason: 'It fell.' };
      const audit = { actor: 'Ana', action: 'device.hardware-lost', subject: deviceId, merchantId, detail: {} };
      expect(await people.waitingDecisions()).toEqual([{ deviceId, journalId: 'journal' }]);
      expect(await people.declareLost(lost, audit)).toEqual({ released: 1, isConnected: false });
      expect((await steps(id)).at(-1)).toEqual({ step: 'hardware lost', detail: 'Ana: It fell.' });
      expect(await people.waitingDecisions()).toEqual([]);
      expect(await audits()).toHaveLength(1);
      // The hardware may come back, and is asked then.
      const given = { ...own, deviceId, journalId: 'journal' };
      expect(idsOf(await sweeps.decisionsOf(database.queries, given))).toEqual([id]);
      await expect(people.declareLost(lost, audit)).rejects.toMatchObject({ errorName: 'The_status_cannot_be_applied' });
    });
  });
});
