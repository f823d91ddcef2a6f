// Migration 3 on a database that was in use: what stood only in the timeline, the review reason or the delivery log is in the command's row.
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import type { Queries } from '../../src/database/database.ts';
import { migrationsDir } from '../../src/database/migration-files.ts';
import { openDatabase } from '../../src/database/open.ts';
import { systemClock } from '../../src/kernel/system.ts';
import { emptyPlace, engines } from '../support/engines.ts';
import { seedCallback, seedDevice, seedMerchant } from '../support/fixtures.ts';
import { quietLogger } from '../support/quiet-logger.ts';

/** A command as the first schema had it. */
async function oldCommand(queries: Queries, merchantId: string, id: string, state: string, more: Record<string, string | number> = {}) {
  const { id: deviceId } = await seedDevice(queries, merchantId);
  const row: Record<string, string | number> = {
    id,
    merchant_id: merchantId,
    device_id: deviceId,
    instance_id: 'old',
    name: 'MoneyIn',
    args: '{}',
    state,
    issued_at: 1,
    answer_by: 2,
    recalls: 0,
    ...more,
  };
  const columns = Object.keys(row).map((name) => sql.ref(name));
  await sql`insert into commands (${sql.join(columns)}) values (${sql.join(Object.values(row))})`.execute(queries);
}

describe.each(engines)('on %s', (engine) => {
  it('rows of the first round keep a true figure', async () => {
    const place = await emptyPlace(engine);
    const dir = mkdtempSync(join(tmpdir(), 'tillgate-migrations-'));
    for (const name of ['0001_foundation.sql', '0002_ledger.sql']) cpSync(join(migrationsDir, name), join(dir, name));
    const options = { ...place.options, role: 'gateway', clock: systemClock, logger: quietLogger } as const;
    const old = await openDatabase({ ...options, migrationsDir: dir });
    const { queries } = old;
    const { id: merchantId } = await seedMerchant(queries);
    const uri = { callback_uri: 'http://erp.example/?#State#' };
    await oldCommand(queries, merchantId, 'told', 'unknown', uri);
    await seedCallback(queries, merchantId, { subject_kind: 'operation', subject_id: 'told', sequence: 1 });
    await oldCommand(queries, merchantId, 'forgotten', 'unknown', uri);
    await oldCommand(queries, merchantId, 'untold', 'sent', uri);
    await oldCommand(queries, merchantId, 'silent', 'unknown');
    await oldCommand(queries, merchantId, 'accepted', 'sent');
    await oldCommand(queries, merchantId, 'running', 'unknown');
    await oldCommand(queries, merchantId, 'cannot-tell', 'unknown', {
      review_since: 7,
      review_reason: 'The device cannot tell how the command ended: power cut.',
    });
    await oldCommand(queries, merchantId, 'overdue', 'unknown', { review_since: 8, review_reason: 'The device has not told the outcome.' });
    const event = (command_id: string, at: number, step: string, detail: string | null = null) => ({ command_id, at, step, detail });
    await queries
      .insertInto('command_events')
      .values([
        event('accepted', 11, 'sent'),
        event('accepted', 12, 'accepted'),
        event('accepted', 13, 'accepted'),
        event('running', 14, 'recalled', 'running'),
        event('silent', 15, 'recalled', 'never'),
      ])
      .execute();
    await old.close();

    const database = await openDatabase(options);
    const rows = await database.queries
      .selectFrom('commands')
      .select(['id', 'accepted_at', 'ended_unknown_at', 'notice_sequence'])
      .orderBy('id')
      .execute();
    expect(rows.map((row) => [row.id, row.accepted_at, row.ended_unknown_at, row.notice_sequence])).toEqual([
      ['accepted', 12, null, 0],
      ['cannot-tell', null, 7, 0],
      ['forgotten', null, null, 1],
      ['overdue', null, null, 0],
      ['running', 14, null, 0],
      ['silent', null, null, 0],
      ['told', null, null, 1],
      ['untold', null, null, 0],
    ]);
    await database.close();
    rmSync(dir, { recursive: true });
    await place.remove();
  });
});
