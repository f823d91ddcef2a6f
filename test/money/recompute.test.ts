// What the doctor computes again: nothing differs in a healthy ledger, and a planted difference of every kind is found, on both engines.
import { globSync, readFileSync } from 'node:fs';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { wholeCase } from '../../exploration/asking.ts';
import { movesIn } from '../../exploration/moves.ts';
import { startOf } from '../../exploration/search.ts';
import { runTranscript } from '../../exploration/transcripts.ts';
import { everything } from '../../exploration/walks.ts';
import { now, type State } from '../../exploration/world.ts';
import type { Clock } from '../../src/kernel/clock.ts';
import { systemClock } from '../../src/kernel/system.ts';
import { recompute } from '../../src/money/recompute.ts';
import { type DifferenceKind, differencesIn } from '../../src/money/rules/differences.ts';
import { byDayOrNight } from '../support/at-length.ts';
import { engines, openQuickDatabase, type TestDatabase } from '../support/engines.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { prepareForLedgers, storeLedger } from '../support/stored-ledger.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const names = globSync('*.txt', { cwd: import.meta.dirname }).sort();
const statesOf = (name: string): readonly State[] => runTranscript(readFileSync(`${import.meta.dirname}/${name}`, 'utf8')).states;
const lastOf = (name: string): State => statesOf(name).at(-1) as State;

describe('nothing differs', () => {
  it('in any state of the transcripts', () => {
    for (const name of names) for (const state of statesOf(name)) expect(differencesIn(wholeCase(state)), name).toEqual([]);
  });

  it('in any state of random histories', { timeout: 120_000 }, () => {
    for (let number = 1; number <= byDayOrNight(6, 200); number += 1) {
      const random = seededRandom(number);
      let { state } = startOf(everything);
      for (let step = 0; step < 40; step += 1) {
        const moves = movesIn(state, everything);
        const move = moves[Math.floor(random.fraction() * moves.length)];
        if (!move) break;
        state = move.next;
        expect(differencesIn(wholeCase(state)), `walk ${number}, ${move.label}`).toEqual([]);
      }
    }
  });
});

interface Plant {
  transcript: string;
  kind: DifferenceKind;
  change: string;
}

const done = `select id from commands where name = 'Pay' and state = 'done'`;
const plants: Plant[] = [
  { transcript: 'void.txt', kind: 'standing', change: `update commands set standing = 'Done' where standing = 'Voided'` },
  { transcript: 'refund.txt', kind: 'refunded', change: `update commands set refunded_bani = 1 where refunded_bani > 1` },
  { transcript: 'void.txt', kind: 'document', change: `update commands set document_state = 'closed' where document_state = 'voided'` },
  { transcript: 'receipt-of-card-payment.txt', kind: 'print', change: `update commands set print_id = null where print_id is not null` },
  {
    transcript: 'decisions.txt',
    kind: 'decision',
    change: `update commands set is_to_confirm = 1 - is_to_confirm where settled_by = 'person'`,
  },
  { transcript: 'lost-hardware.txt', kind: 'decision', change: `update device_locks set unconfirmed = '["gone"]'` },
  {
    transcript: 'decisions.txt',
    kind: 'decision',
    change: `update commands set is_unconfirmed = 1 - is_unconfirmed where settled_by = 'person'`,
  },
  {
    transcript: 'abort.txt',
    kind: 'state',
    change: `update commands set state = 'sent', settled_at = null, settled_by = null where name = 'Abort'`,
  },
  { transcript: 'pay.txt', kind: 'lock', change: `update device_locks set command_id = (${done} limit 1)` },
  { transcript: 'pay.txt', kind: 'lock', change: `update device_locks set document_id = 'gone'` },
  { transcript: 'pay.txt', kind: 'lock', change: `update device_locks set last_payment = null where last_payment is not null` },
  { transcript: 'two-gateways.txt', kind: 'lock', change: `update device_locks set command_id = null where command_id is not null` },
  { transcript: 'close-day.txt', kind: 'bank day', change: `update device_locks set closes = '[]' where closes <> '[]'` },
  { transcript: 'close-day.txt', kind: 'bank day', change: `update commands set state = 'never', standing = 'Never' where closes_day = 1` },
  { transcript: 'pay.txt', kind: 'name', change: `update names set ops = '[]'` },
  { transcript: 'pay.txt', kind: 'name', change: `delete from names` },
  { transcript: 'qr-paid-by-card.txt', kind: 'paid by card', change: `update invoices set is_paid_by_card = 1 - is_paid_by_card` },
  {
    transcript: 'qr-cancelled-with-payment.txt',
    kind: 'invoice',
    change: `update invoices set state = 0, ended_at = null where state = 4`,
  },
  { transcript: 'qr-orphans.txt', kind: 'orphan', change: `update orphan_payments set is_listed = 1 - is_listed` },
  { transcript: 'qr-paid-by-both.txt', kind: 'orphan', change: `update orphan_payments set is_listed = 1` },
];

describe.each(engines)('the rows of a database on %s', (engine) => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await openQuickDatabase(engine, createVirtualClock(now));
    await prepareForLedgers(database.queries);
  });
  afterAll(() => database.close());

  /** What happens between the two looks. */
  const recomputed = (meanwhile: () => Promise<unknown> = async () => undefined) => {
    const after: Clock['after'] = (_, action) => {
      void meanwhile().then(action);
      return () => undefined;
    };
    return recompute({ database, clock: { ...systemClock, after } });
  };

  it('differ nowhere after the transcripts', { timeout: 120_000 }, async () => {
    for (const [at, name] of names.entries()) {
      // Row by row that takes a second of each.
      if (engine === 'postgres' && at % byDayOrNight(4, 1) !== 0) continue;
      const { ledger } = lastOf(name);
      await storeLedger(database, ledger);
      const seen = await recomputed();
      expect(seen, name).toMatchObject({ differences: [], isComplete: true });
      expect(seen.operations, name).toBe(Object.keys(ledger['commands'] ?? {}).length);
    }
  });

  it.each(plants)('$kind: $change', async ({ transcript, kind, change }) => {
    await storeLedger(database, lastOf(transcript).ledger);
    const { numAffectedRows = 0n } = await sql.raw(change).execute(database.queries);
    expect(numAffectedRows).toBeGreaterThan(0n);
    const { differences } = await recomputed();
    expect(differences.map((one) => one.kind)).toContain(kind);
    for (const { id } of differences) expect(id).toMatch(/./);
  });

  it('a difference that is gone at the second look is none', async () => {
    await storeLedger(database, lastOf('void.txt').ledger);
    await sql`update commands set standing = 'Done' where standing = 'Voided'`.execute(database.queries);
    const undo = sql`update commands set standing = 'Voided' where standing = 'Done' and document_state = 'voided'`;
    expect((await recomputed()).differences).toHaveLength(1);
    expect((await recomputed(() => undo.execute(database.queries))).differences).toEqual([]);
  });

  it('ends early if everything is wrong', async () => {
    await storeLedger(database, lastOf('pay.txt').ledger);
    const columns = Object.keys(lastOf('pay.txt').ledger['commands']?.['p1'] ?? {}).filter((column) => column !== 'id');
    const listed = sql.raw([...columns, 'instance_id'].map((column) => `"${column}"`).join(', '));
    for (let at = 0; at < 300; at += 1)
      await sql`insert into commands (id, ${listed}) select ${`copy ${at}`}, ${listed} from commands where id = 'p1'`.execute(
        database.queries,
      );
    const seen = await recomputed();
    expect(seen.isComplete).toBe(false);
    expect(seen.operations).toBeLessThan(300);
  });
});
