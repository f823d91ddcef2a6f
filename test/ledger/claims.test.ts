// One command has a number or content, and one can wait for it. Further ones that are disputed or were executed must not be forgotten: a Pay
// under the number could charge again, an equal request without number could run beside a dispute [D143].
import { describe, expect, it } from 'vitest';
import type { Queries } from '../../src/database/database.ts';
import {
  claimDisputedContent,
  findByContent,
  findClaimant,
  passContentOn,
  reclaimNumbers,
  releaseNumbers,
} from '../../src/ledger/claims.ts';
import type { Command } from '../../src/ledger/command.ts';
import { findCommand } from '../../src/ledger/store.ts';
import { engines, openQuickDatabase } from '../support/engines.ts';
import { seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';

const payments = { name: 'Pay', document_nr: 'n' } as const;
const prints = { name: 'PrintReceipt', receipt_uid: 'n' } as const;

/** So many operations under the number `n`, each disputed in turn. */
async function disputes(queries: Queries, count: number, numbered: typeof payments | typeof prints = payments) {
  const merchantId = (await seedMerchant(queries)).id;
  const deviceId = (await seedDevice(queries, merchantId)).id;
  const refused = { state: 'refused', settled_at: 1, settled_by: 'person', ...numbered } as const;
  // Earlier sales of the merchant are no claimants.
  for (const other of ['a', 'b', 'c'])
    await seedCommand(queries, merchantId, deviceId, {
      ...refused,
      name: 'Refund',
      state: 'done',
      document_nr: other,
      receipt_uid: null,
      issued_at: 0,
    });
  const disputed: Command[] = [];
  for (let issued_at = 1; issued_at <= count; issued_at += 1) {
    const { id } = await seedCommand(queries, merchantId, deviceId, { ...refused, issued_at });
    await queries
      .updateTable('commands')
      .set({ state: 'disputed', disputed_from: 'refused', review_since: 1, review_reason: 'r' })
      .where('id', '=', id)
      .execute();
    const command = (await findCommand(queries, id)) as Command;
    await reclaimNumbers(queries, command);
    disputed.push(command);
  }
  const set = (command: Command, to: object) => queries.updateTable('commands').set(to).where('id', '=', command.id).execute();
  return {
    disputed,
    cashReceipt() {
      const print = { name: 'PrintReceipt', receipt_uid: 'n', issued_at: 0 } as const;
      return seedCommand(queries, merchantId, deviceId, { ...print, state: 'done', settled_at: 1, settled_by: 'answer' });
    },
    claimant: () => findClaimant(queries, merchantId, numbered.name === 'Pay' ? 'document' : 'receipt', 'n'),
    async asExecuted(command: Command) {
      await set(command, { state: 'done', document_state: 'closed', reviewed_at: 2 });
      await reclaimNumbers(queries, command);
    },
    async asNotExecuted(command: Command) {
      await set(command, { state: 'refused', reviewed_at: 2 });
      await releaseNumbers(queries, command);
    },
  };
}

describe.each(engines)('the number of several disputed operations, on %s', (engine) => {
  it.each([payments, prints])(
    'of $name stays claimed until the last of four disputes under it is resolved as not executed',
    async (numbered) => {
      const { queries } = await openQuickDatabase(engine);
      const { disputed, claimant, asNotExecuted } = await disputes(queries, 4, numbered);
      const [first, second, third, fourth] = disputed as [Command, Command, Command, Command];
      expect((await claimant())?.id).toBe(first.id);
      // First the one that waits, then the one that has the number: the two others are in no row of the claims until then.
      for (const resolved of [second, first, fourth, third]) {
        expect((await claimant())?.state).toBe('disputed');
        await asNotExecuted(resolved);
      }
      expect(await claimant()).toBeUndefined();
    },
  );

  it('stays claimed for ever if the third was resolved as executed before the others were as not executed', async () => {
    const { queries } = await openQuickDatabase(engine);
    const { disputed, claimant, cashReceipt, asExecuted, asNotExecuted } = await disputes(queries, 3);
    const [first, second, third] = disputed as [Command, Command, Command];
    // Others have the number, and claim nothing under it.
    for (let count = 0; count < 2; count += 1) await cashReceipt();
    await asExecuted(third);
    await asNotExecuted(first);
    await asNotExecuted(second);
    expect((await claimant())?.id).toBe(third.id);
  });
});

it.each(engines)(
  'a content leads to a disputed command until the last of three is resolved, and then to the newest one, on %s',
  async (engine) => {
    const { queries } = await openQuickDatabase(engine);
    const merchantId = (await seedMerchant(queries)).id;
    const deviceId = (await seedDevice(queries, merchantId)).id;
    const row = { name: 'MoneyOut', request_hash: 'h', settled_at: 1, settled_by: 'person' } as const;
    const seed = async (columns: object) => {
      const { id } = await seedCommand(queries, merchantId, deviceId, { ...row, ...columns });
      return (await findCommand(queries, id)) as Command;
    };
    const found = async () => (await findByContent(queries, { merchantId, deviceId, requestHash: 'h' }))?.id;
    const older = [await seed({ state: 'refused', issued_at: 1 }), await seed({ state: 'refused', issued_at: 2 })];
    const newest = await seed({ state: 'refused', issued_at: 3 });
    const [first, second, third] = [older[0], newest, older[1]] as [Command, Command, Command];
    const set = (command: Command, to: object) => queries.updateTable('commands').set(to).where('id', '=', command.id).execute();
    const dispute = { state: 'disputed', disputed_from: 'refused', review_since: 1, review_reason: 'r' };
    // A dispute about another content, which a newer command waits for.
    const otherContent = await seed({ state: 'disputed', request_hash: 'other', issued_at: 0 });
    const waiting = await seed({ state: 'refused', request_hash: null });
    await queries.updateTable('claims').set({ next_id: waiting.id }).where('command_id', '=', otherContent.id).execute();
    for (const command of [first, second, third]) {
      await set(command, dispute);
      await claimDisputedContent(queries, command);
      expect(await found()).toBe(first.id);
    }
    for (const [resolved, next] of [
      [second, first],
      [first, third],
      [third, newest],
    ] as const) {
      await set(resolved, { state: 'refused', reviewed_at: 2 });
      await passContentOn(queries, resolved);
      expect(await found()).toBe(next.id);
    }
    expect((await findByContent(queries, { merchantId, deviceId, requestHash: 'other' }))?.id).toBe(otherContent.id);
    // Its repeats were answered 31 so far: from now on one gets its outcome, for as long as after an answer 3.
    expect((await findCommand(queries, newest.id))?.outcomeMissedAtMs).not.toBeNull();
    expect((await findCommand(queries, first.id))?.outcomeMissedAtMs).toBeNull();
  },
);
