// A person's decision over HTTP: it and its audit entry are one transaction, with all fields of the request; a refused one writes nothing.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { engines } from '../support/engines.ts';
import { seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';
import { openCabinet, type RunningCabinet } from './running-cabinet.ts';

const reason = 'It is in the bank’s list.';
const decision = { state: 'done', reason, operationId: '4711', rrn: '990011' };

describe.each(engines)('deciding a command on %s', (engine) => {
  let cabinet: RunningCabinet;

  beforeEach(async () => {
    cabinet = await openCabinet(engine);
  });
  afterEach(() => cabinet.close());

  async function openCommand(overdueMs: number): Promise<string> {
    const { queries } = cabinet.database;
    const { id: merchantId } = await seedMerchant(queries);
    const { id: deviceId } = await seedDevice(queries, merchantId);
    const { id } = await seedCommand(queries, merchantId, deviceId, { state: 'unknown', answer_by: Date.now() - overdueMs });
    return id;
  }

  async function entries() {
    const rows = await cabinet.database.queries.selectFrom('audit_log').select(['action', 'actor', 'subject', 'detail']).execute();
    return rows.map((row) => ({ ...row, detail: JSON.parse(row.detail) as object }));
  }

  it('records the actor, the decision and all fields of the request', async () => {
    const id = await openCommand(10 * 60_000);
    expect(await cabinet.post(`/commands/${id}/decide`, decision)).toMatchObject({
      errorCode: 0,
      command: { state: 'done', settledBy: 'person', operationId: '4711' },
    });
    expect(await entries()).toEqual([{ action: 'command.decide', actor: 'admin token', subject: id, detail: decision }]);
  });

  it('writes no entry when the decision is refused: too early, already settled, unknown', async () => {
    const running = await openCommand(-300_000);
    expect(await cabinet.post(`/commands/${running}/decide`, decision)).toMatchObject({ errorCode: 22 });
    expect(await cabinet.post('/commands/c1b2a3d4-5e6f-4a7b-8c9d-0e1f2a3b4c55/decide', decision)).toMatchObject({ errorCode: 20 });
    expect(await entries()).toEqual([]);
    const overdue = await openCommand(10 * 60_000);
    await cabinet.post(`/commands/${overdue}/decide`, decision);
    expect(await cabinet.post(`/commands/${overdue}/decide`, { ...decision, state: 'refused' })).toMatchObject({ errorCode: 22 });
    expect(await entries()).toHaveLength(1);
  });

  it('fails when the audit entry cannot be written, and so does closing a review', async () => {
    const id = await openCommand(10 * 60_000);
    const settled = await openCommand(10 * 60_000);
    const { queries } = cabinet.database;
    await queries
      .updateTable('commands')
      .set({ state: 'never', settled_at: 1, settled_by: 'recall', review_since: 1, review_reason: 'A contradiction.' })
      .where('id', '=', settled)
      .execute();
    await queries.schema.alterTable('audit_log').renameTo('audit_log_away').execute();
    const seen = { ...decision, closesReview: true };
    expect((await cabinet.post(`/commands/${id}/decide`, decision)).errorCode).not.toBe(0);
    expect((await cabinet.post(`/commands/${settled}/decide`, seen)).errorCode).not.toBe(0);
    await queries.schema.alterTable('audit_log_away').renameTo('audit_log').execute();
    const rows = await queries.selectFrom('commands').select(['id', 'state', 'reviewed_at']).execute();
    expect(rows.toSorted((a, b) => a.state.localeCompare(b.state))).toEqual([
      { id: settled, state: 'never', reviewed_at: null },
      { id, state: 'unknown', reviewed_at: null },
    ]);
    expect(await cabinet.post(`/commands/${settled}/decide`, decision)).toMatchObject({ errorCode: 22 });
    expect(await cabinet.post(`/commands/${settled}/decide`, seen)).toMatchObject({ errorCode: 0, command: { state: 'never' } });
    expect(await entries()).toMatchObject([{ subject: settled, detail: seen }]);
  });

  it('is refused if the device has reported something else than the page showed', async () => {
    const { queries } = cabinet.database;
    for (const row of [
      { state: 'disputed', disputed_from: 'refused' },
      { state: 'done', outcome: 'done', document_state: 'closed' },
    ] as const) {
      const id = await openCommand(10 * 60_000);
      const review = { settled_at: 1, settled_by: 'person', review_since: 1, review_reason: 'It says otherwise.' } as const;
      const report = (contradiction: string) =>
        queries
          .updateTable('commands')
          .set({ ...row, ...review, contradiction })
          .where('id', '=', id)
          .execute();
      await report('accepted');
      const { steps } = (await cabinet.get(`/commands/${id}`)) as unknown as { steps: { action: string; contradiction?: string }[] };
      const { items } = (await cabinet.get('/attention')) as unknown as {
        items: { commandId: string; nextStep: { contradiction?: string } }[];
      };
      const { commands } = (await cabinet.get('/review')) as unknown as { commands: { id: string; contradiction?: string }[] };
      const seen = [
        steps.find(({ action }) => action === 'decide'),
        items.find(({ commandId }) => commandId === id)?.nextStep,
        commands.find((command) => command.id === id),
      ];
      expect(seen).toMatchObject(Array.from(seen, () => ({ contradiction: 'accepted' })));
      await report('done 4712');
      const decide = (contradiction: string) =>
        cabinet.post(`/commands/${id}/decide`, { state: 'refused', reason, closesReview: true, contradiction });
      expect(await decide('accepted')).toMatchObject({
        errorCode: 22,
        errorMessage: expect.stringContaining('contradicted it since') as string,
      });
      expect(await decide('done 4712')).toMatchObject({ errorCode: 0 });
    }
  });
});
