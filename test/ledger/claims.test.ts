// One command has a number, and one can wait for it. Further disputed ones must not be forgotten: their number would be free, and a Pay
// under it could charge again [D143].
import { expect, it } from 'vitest';
import { findClaimant, reclaimNumbers, releaseNumbers } from '../../src/ledger/claims.ts';
import type { Command } from '../../src/ledger/command.ts';
import { findCommand } from '../../src/ledger/store.ts';
import { engines, openQuickDatabase } from '../support/engines.ts';
import { seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';

it.each(engines)('a number stays claimed until the last of four disputes under it is resolved as not executed, on %s', async (engine) => {
  const { queries } = await openQuickDatabase(engine);
  const merchantId = (await seedMerchant(queries)).id;
  const deviceId = (await seedDevice(queries, merchantId)).id;
  const claimant = () => findClaimant(queries, merchantId, 'document', 'n');
  const refused = { state: 'refused', settled_at: 1, settled_by: 'person', document_nr: 'n' } as const;
  const disputed: Command[] = [];
  for (const issued_at of [1, 2, 3, 4]) {
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
  const [first, second, third, fourth] = disputed as [Command, Command, Command, Command];
  expect((await claimant())?.id).toBe(first.id);
  // First the one that waits, then the one that has the number: the two others are in no row of the claims until then.
  for (const resolved of [second, first, fourth, third]) {
    expect((await claimant())?.state).toBe('disputed');
    await queries.updateTable('commands').set({ state: 'refused', reviewed_at: 2 }).where('id', '=', resolved.id).execute();
    await releaseNumbers(queries, resolved);
  }
  expect(await claimant()).toBeUndefined();
});
