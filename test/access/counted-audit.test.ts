// Failed logins and refused calls in the audit log: one entry per actor, subject and minute, however many there are.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createCountedAudit } from '../../src/access/counted-audit.ts';
import type { Database } from '../../src/database/database.ts';
import { memoryDatabase } from '../support/engines.ts';
import { type RecordingLogger, recordingLogger } from '../support/quiet-logger.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const clock = createVirtualClock(undefined, { settle: 'microtasks' });
let database: Database;
let audit: ReturnType<typeof createCountedAudit>;
const logins = {
  note: (subject: string, about?: string) => audit.note({ actor: 'unknown', action: 'login.fail', subject, about }),
  stop: () => audit.stop(),
};
let isDown: boolean;
let logger: RecordingLogger;

beforeEach(async () => {
  isDown = false;
  logger = recordingLogger();
  database = await memoryDatabase(clock);
  const transaction: Database['transaction'] = (work) =>
    isDown ? Promise.reject(new Error('The database is away.')) : database.transaction(work);
  audit = createCountedAudit({ database: { ...database, transaction }, clock, logger });
});
afterEach(() => database.close());

async function entries() {
  const rows = await database.queries.selectFrom('audit_log').select(['action', 'subject', 'detail']).orderBy('id').execute();
  return rows.map(({ action, subject, detail }) => [action, subject, (JSON.parse(detail) as { count: number }).count]);
}

describe('failed logins', () => {
  it('are one entry per address after a minute and then each hour, with their number', async () => {
    for (let count = 0; count < 1_000; count += 1) logins.note('192.0.2.1');
    logins.note('192.0.2.2');
    await clock.advance(59_999);
    expect(await entries()).toEqual([]);
    await clock.advance(1);
    expect(await entries()).toEqual([
      ['login.fail', '192.0.2.1', 1_000],
      ['login.fail', '192.0.2.2', 1],
    ]);
    // While it goes on for a day: one caller does not fill the log, and nothing is lost.
    for (let minute = 0; minute < 24 * 60; minute += 1) {
      logins.note('192.0.2.1');
      await clock.advance(60_000);
    }
    await clock.advance(3_600_000);
    const ofOne = (await entries()).slice(2);
    expect(ofOne).toHaveLength(24);
    expect(ofOne.reduce((sum, entry) => sum + Number(entry[2]), 0)).toBe(24 * 60);
    // After a quiet hour the first is written after a minute again.
    await clock.advance(3_600_000);
    logins.note('192.0.2.1');
    await clock.advance(60_000);
    expect((await entries()).at(-1)).toEqual(['login.fail', '192.0.2.1', 1]);
    expect(clock.pending).toBe(0);
  });

  it('of ever new addresses take a bounded number of entries, and none gets lost in the sum', async () => {
    for (let count = 0; count < 5_000; count += 1) logins.note(`address ${count}`);
    await clock.advance(60_000);
    const written = await entries();
    expect(written).toHaveLength(201);
    expect(written.at(-1)).toEqual(['login.fail', 'others', 4_800]);
    // Those that are counted already take no place of a new one.
    for (let count = 0; count < 200; count += 1) logins.note(`address ${count}`);
    logins.note('one more');
    await clock.advance(60_000);
    expect((await entries()).slice(201)).toEqual([['login.fail', 'one more', 1]]);
    await logins.stop();
    expect(await entries()).toHaveLength(402);
  });

  it('of all networks that one customer may have are one entry, which names the accounts', async () => {
    for (let subnet = 0; subnet < 500; subnet += 1) {
      audit.noteFailedLogin({ address: `2001:db8:1:${subnet.toString(16)}::`, email: 'ana@shop.md', isSignedIn: subnet % 2 === 1 });
    }
    audit.noteFailedLogin({ address: '192.0.2.1' });
    await clock.advance(60_000);
    expect(await entries()).toEqual([
      ['login.fail', '2001:db8:1::/48', 500],
      ['login.fail', '192.0.2.1', 1],
    ]);
    const row = await database.queries.selectFrom('audit_log').select('detail').executeTakeFirst();
    expect(JSON.parse(String(row?.detail))).toEqual({ count: 500, about: ['ana@shop.md', 'ana@shop.md (signed in to another account)'] });
  });

  it('that could not be written are retried a minute later', async () => {
    logins.note('192.0.2.1');
    isDown = true;
    await clock.advance(60_000);
    isDown = false;
    await clock.advance(59_999);
    expect(await entries()).toEqual([]);
    await clock.advance(1);
    expect(await entries()).toEqual([['login.fail', '192.0.2.1', 1]]);
  });

  it('write nothing if there are none, and log no database error', async () => {
    isDown = true;
    await logins.stop();
    expect(logger.lines).toEqual([]);
  });

  it('are kept while the database is down, and written at the stop', async () => {
    logins.note('192.0.2.1');
    isDown = true;
    await clock.advance(60_000);
    logins.note('192.0.2.1');
    isDown = false;
    await logins.stop();
    expect(await entries()).toEqual([['login.fail', '192.0.2.1', 2]]);
    expect(clock.pending).toBe(0);
  });

  it('name the first few accounts that were tried, and whose log the entry is in', async () => {
    for (let count = 0; count < 20; count += 1) logins.note('192.0.2.1', `user${count % 10}@shop.md`);
    audit.note({ actor: 'Ana <ana@shop.md>', action: 'access.refuse', subject: 'a', merchantId: 'm', about: 'createMerchant' });
    await clock.advance(60_000);
    const rows = await database.queries.selectFrom('audit_log').select(['actor', 'merchant_id', 'detail']).orderBy('id').execute();
    expect(rows).toEqual([
      {
        actor: 'unknown',
        merchant_id: null,
        detail: JSON.stringify({ count: 20, about: [0, 1, 2, 3, 4].map((number) => `user${number}@shop.md`) }),
      },
      { actor: 'Ana <ana@shop.md>', merchant_id: 'm', detail: '{"count":1,"about":["createMerchant"]}' },
    ]);
  });
});
