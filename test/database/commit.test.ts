// What the commit of the money core promises, on both engines: each unit whole or not at all, and only while its guards hold.
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Commit, createCommit } from '../../src/database/commit.ts';
import { atCommit, type Unit, type Values } from '../../src/database/commit-data.ts';
import type { Database } from '../../src/database/database.ts';
import { DatabaseBusy, databaseDown } from '../../src/database/errors.ts';
import { all, assigned, begin, createTables, refill, settle, tables } from '../support/commit-tables.ts';
import { engines, openTestDatabase, type TestDatabase } from '../support/engines.ts';

const devices = ['t1', 't2', 't3', 't4', 't5'];
/** Only raises the versions of a device and a command. */
const touching = (device: string, id: string): Unit => ({
  writes: [
    { table: 't_devices', key: [device], guard: { document_id: null }, set: {} },
    { table: 't_commands', key: [id], guard: 2, set: {} },
  ],
  inserts: [],
});

describe.each(engines)('a commit on %s', (engine) => {
  let database: TestDatabase;
  let commit: Commit;
  /** Statements of one try, in order, with what happens to the next ones. */
  let goes: string[][];
  /** The rows of its updates. */
  let locked: string[][];
  let faults: ((run: () => Promise<Record<string, unknown>[][]>) => Promise<Record<string, unknown>[][]>)[];

  beforeAll(async () => {
    database = await openTestDatabase(engine);
    await createTables(database);
  });
  beforeEach(async () => {
    await refill(database, devices);
    goes = [];
    locked = [];
    faults = [];
    const watched: Database = {
      ...database,
      async inOneGo(statements) {
        goes.push(statements.map(({ sql: text }) => text));
        const updates = statements.filter(({ sql: text }) => text.includes('update'));
        // A single row is bound value by value.
        const keysOf = (rows: string) => (rows.startsWith('[') ? [...rows.matchAll(/"id":"(\w+)"/g)].map(([, id]) => id ?? '') : [rows]);
        locked.push(updates.flatMap(({ parameters }) => keysOf(String(parameters[0]))));
        const fault = faults.shift();
        return await (fault ? fault(() => database.inOneGo(statements)) : database.inOneGo(statements));
      },
      soon: (action) => void setImmediate(action),
    };
    commit = createCommit(watched, tables);
  });
  afterAll(() => database.close());

  const together = (...units: Unit[]) => Promise.all(units.map((unit) => commit.add(unit)));

  it('writes a unit, and returns what the database filled in', async () => {
    const result = await commit.add(begin('c1', 't1'));
    const [command] = await all(database, 't_commands');
    expect(assigned(result)).toEqual([{}, { id: 'c1', sequence: 1, issued_at: command?.['issued_at'] }, {}]);
    expect(result).toMatchObject({ now: expect.closeTo(Date.now(), -5) });
    expect(command).toMatchObject({ id: 'c1', version: 1, state: 'open', sequence: 1, report: null });
    expect(await all(database, 't_devices')).toContainEqual({ id: 't1', sequence: 1, command_id: 'c1', document_id: null });
    expect(await all(database, 't_names')).toEqual([{ merchant_id: 'm', value: 'number c1', version: 1, ops: 'c1' }]);
  });

  it('writes a row once for all units that rely on nothing of it, and for one that does', async () => {
    const noting = (id: string): Unit => ({
      writes: [{ table: 't_devices', key: ['t1'], guard: {}, set: { document_id: id } }],
      inserts: [{ table: 't_events', row: { command_id: id, step: 'noted' } }],
    });
    const results = await together(noting('n1'), begin('c1', 't1'), noting('n2'), noting('n3'));
    expect(results.filter((result) => typeof result === 'string')).toEqual([]);
    expect(goes).toHaveLength(1);
    expect(await all(database, 't_devices')).toContainEqual({ id: 't1', sequence: 1, command_id: 'c1', document_id: 'n3' });
    expect(await all(database, 't_events')).toHaveLength(4);
  });

  it('sets only the given columns, raises the version, and takes the time of the database', async () => {
    await commit.add(begin('c1', 't1'));
    await commit.add(settle('c1', 1));
    await commit.add({ writes: [{ table: 't_commands', key: ['c1'], guard: 2, set: {} }], inserts: [] });
    await commit.add({ writes: [{ table: 't_commands', key: ['c1'], guard: 3, set: { settled_at: null } }], inserts: [] });
    const [command] = await all(database, 't_commands');
    expect(command).toMatchObject({ version: 4, state: 'done', report: 'paid', settled_at: null });
    expect(await all(database, 't_devices')).toContainEqual({ id: 't1', sequence: 2, command_id: null, document_id: 'c1' });
    await commit.add(begin('c2', 't2'));
    await commit.add(settle('c2', 1, 't2'));
    expect((await all(database, 't_commands'))[1]?.['settled_at']).toBeCloseTo(Date.now(), -5);
  });

  it('compares columns beside the version, and leaves the version to what others do not rely on', async () => {
    const never: Unit = {
      writes: [{ table: 't_commands', key: ['c1'], guard: 1, also: { accepted_at: null }, set: { state: 'never' } }],
      inserts: [],
    };
    const accepted = (guard: Values): Unit => ({
      writes: [{ table: 't_commands', key: ['c1'], guard, set: { accepted_at: atCommit }, isLate: true }],
      inserts: [],
    });
    await commit.add(begin('c1', 't1'));
    expect(await commit.add(accepted({ state: 'open', accepted_at: null }))).toHaveProperty('now');
    expect((await all(database, 't_commands'))[0]).toMatchObject({ version: 1, accepted_at: expect.closeTo(Date.now(), -5) });
    expect(await commit.add(accepted({ state: 'open', accepted_at: null }))).toBe('conflict');
    // The version is still the one that was loaded, and the acceptance is not.
    expect(await commit.add(never)).toBe('conflict');
    await sql`update t_commands set accepted_at = null`.execute(database.queries);
    expect(await commit.add(never)).toHaveProperty('now');
    expect((await all(database, 't_commands'))[0]).toMatchObject({ version: 2, state: 'never' });
  });

  it.each<[string, Unit]>([
    ['a version that has been raised', settle('c1', 7)],
    ['a value that is another one', begin('c2', 't1')],
    ['a value that is null', { ...settle('c1', 1), writes: [{ table: 't_devices', key: ['t2'], guard: { command_id: 'c1' }, set: {} }] }],
    ['a row that is not there', { writes: [{ table: 't_commands', key: ['nobody'], guard: 1, set: { state: 'done' } }], inserts: [] }],
    ['a name that is taken', begin('c2', 't2', 'number c1')],
    ['a row that must not be there', { ...begin('c2', 't2', 'an invoice') }],
  ])('writes nothing at all if a guard does not hold: %s', async (_, unit) => {
    await commit.add(begin('c1', 't1'));
    await sql`insert into t_invoices (oid, version, state) values ('an invoice', 1, 'new')`.execute(database.queries);
    const before = await Promise.all((['t_devices', 't_commands', 't_names', 't_events'] as const).map((table) => all(database, table)));
    expect(await commit.add(unit)).toBe('conflict');
    expect(await Promise.all((['t_devices', 't_commands', 't_names', 't_events'] as const).map((table) => all(database, table)))).toEqual(
      before,
    );
  });

  it('commits the other units of a batch when one fails, and throws an error of values to its own caller', async () => {
    await commit.add(begin('c0', 't3'));
    const bad = begin('c2', 't2');
    const unbound = { ...bad, inserts: [...bad.inserts, { table: 't_events', row: { command_id: 'c2', step: 'a\u0000b' } }] };
    const results = await Promise.allSettled([commit.add(begin('c1', 't1')), commit.add(unbound), commit.add(begin('c3', 't3'))]);
    expect(results.map((one) => (one.status === 'fulfilled' ? typeof one.value : String(one.reason)))).toEqual([
      'object',
      'TypeError: A text with a NUL character cannot be stored.',
      'string',
    ]);
    expect((await all(database, 't_commands')).map(({ id }) => id)).toEqual(['c0', 'c1']);
    await expect(
      commit.add({ writes: [{ table: 't_commands', key: ['c1'], guard: 1, set: { issued_at: 1 } }], inserts: [] }),
    ).rejects.toThrow('issued_at');
    await expect(commit.add({ writes: [], inserts: [{ table: 'commands', row: {} }] })).rejects.toThrow('no table "commands"');
  });

  it('commits units together in one go, in one order of tables and keys', async () => {
    await together(begin('c3', 't3'), begin('c1', 't1'), begin('c2', 't2'));
    expect(goes).toHaveLength(1);
    // The rows of a table by their keys, however the units came: c3 is on the first device.
    for (const id of ['c1', 'c2', 'c3']) await commit.add({ writes: [{ table: 't_commands', key: [id], guard: 1, set: {} }], inserts: [] });
    await together(touching('t1', 'c3'), touching('t2', 'c1'), touching('t3', 'c2'));
    expect(locked.at(-1)).toEqual(['t1', 't2', 't3', 'c1', 'c2', 'c3']);
    goes.length = 1;
    await sql`update t_commands set version = 1`.execute(database.queries);
    await together(settle('c3', 1, 't3'), settle('c1', 1), begin('x', 't2'));
    const tables = goes[1]?.flatMap((text) => /(?:update|insert into) "(\w+)"/.exec(text)?.[1] ?? []) ?? [];
    expect(tables.filter((table, at) => table !== tables[at - 1])).toEqual([
      't_devices',
      't_commands',
      't_names',
      't_events',
      't_commands',
    ]);
    expect((await all(database, 't_commands')).map(({ id, state }) => `${id} ${state}`)).toEqual(['c1 done', 'c2 open', 'c3 done']);
  });

  it('writes many rows of a table with one statement, also if they set and compare different columns', async () => {
    const ids = ['c5', 'c2', 'c4', 'c1', 'c3'];
    await together(...ids.map((id) => begin(id, `t${id.slice(1)}`)));
    const accepted: Unit = {
      writes: [
        { table: 't_commands', key: ['c4'], guard: { state: 'open', accepted_at: null }, set: { accepted_at: atCommit }, isLate: true },
      ],
      inserts: [],
    };
    const touched: Unit = { writes: [{ table: 't_commands', key: ['c5'], guard: 1, set: {} }], inserts: [] };
    const never: Unit = {
      writes: [{ table: 't_commands', key: ['c3'], guard: 1, also: { accepted_at: null }, set: { state: 'never' } }],
      inserts: [],
    };
    const mixed = [accepted, settle('c2', 1, 't2'), touched, settle('c1', 1), never];
    const results = await together(...mixed);
    expect(results.filter((result) => typeof result === 'string')).toEqual([]);
    expect(goes).toHaveLength(2);
    expect(goes[1]?.filter((text) => text.includes('update "t_commands"'))).toHaveLength(1);
    expect(locked.at(-1)).toEqual(['t1', 't2', 'c1', 'c2', 'c3', 'c4', 'c5']);
    const rows = () => all(database, 't_commands');
    const said = async () =>
      (await rows()).map((row) => [row['state'], row['version'], row['report'], row['accepted_at'] !== null].join(' '));
    const after = ['done 2 paid false', 'done 2 paid false', 'never 2  false', 'open 1  true', 'open 2  false'];
    expect(await said()).toEqual(after);
    // Each guard of such a statement holds the whole batch back, and its own unit alone fails.
    const stale = await together(...mixed.slice(0, 4), { ...never, writes: never.writes.map((write) => ({ ...write, guard: 2 })) });
    expect(stale.map((result) => typeof result)).toEqual(['string', 'string', 'string', 'string', 'object']);
    expect(await said()).toEqual(after.with(2, 'never 3  false'));
  });

  it('never has two units under way that share a row: the second is decided by the state that the first leaves', async () => {
    // A late "done" of A sees that N is held by B; B's refusal releases N. Both committed in one batch would let the next Pay charge.
    await sql`insert into t_names (merchant_id, value, version, ops) values ('m', 'N', 1, 'A B')`.execute(database.queries);
    const lateDone: Unit = {
      writes: [{ table: 't_names', key: ['m', 'N'], guard: 1, set: { ops: 'A B' } }],
      inserts: [{ table: 't_events', row: { command_id: 'A', step: 'done' } }],
    };
    const refused: Unit = {
      writes: [{ table: 't_names', key: ['m', 'N'], guard: 1, set: { ops: '' } }],
      inserts: [{ table: 't_events', row: { command_id: 'B', step: 'refused' } }],
    };
    const results = await together(lateDone, refused);
    expect(results.map((one) => (typeof one === 'string' ? one : 'written'))).toEqual(['written', 'conflict']);
    expect(await all(database, 't_names')).toEqual([{ merchant_id: 'm', value: 'N', version: 2, ops: 'A B' }]);
    // The other way round.
    const again = (unit: Unit): Unit => ({ ...unit, writes: unit.writes.map((write) => ({ ...write, guard: 2 })) });
    expect((await together(again(refused), again(lateDone))).map((one) => (typeof one === 'string' ? one : 'written'))).toEqual([
      'written',
      'conflict',
    ]);
    expect(await all(database, 't_events')).toEqual([
      { command_id: 'A', step: 'done' },
      { command_id: 'B', step: 'refused' },
    ]);
  });

  describe('after a lost answer', () => {
    const lost = async (run: () => Promise<unknown>) => {
      await run();
      throw databaseDown('The answer is lost.');
    };
    const away = async () => {
      throw databaseDown('The database is away.');
    };

    it('finds what was written, with what the database filled in', async () => {
      faults = [lost];
      const result = await commit.add(begin('c1', 't1'));
      expect(assigned(result)).toEqual([{}, expect.objectContaining({ id: 'c1', sequence: 1 }), {}]);
      expect(await all(database, 't_commands')).toHaveLength(1);
    });

    it('repeats what was not written', async () => {
      faults = [away];
      expect(assigned(await commit.add(begin('c1', 't1')))).toEqual([{}, expect.objectContaining({ id: 'c1' }), {}]);
      expect(await all(database, 't_events')).toHaveLength(1);
    });

    it('says unclear while the database is away', async () => {
      faults = [away, away];
      expect(await commit.add(begin('c1', 't1'))).toBe('unclear');
      faults = [lost, away];
      expect(await commit.add(begin('c2', 't2'))).toBe('unclear');
    });

    it('lets a try that is committed late write nothing twice', async () => {
      let late: (() => Promise<unknown>) | undefined;
      faults = [
        async (run) => {
          late = run;
          throw databaseDown('The answer is late.');
        },
      ];
      expect(assigned(await commit.add(begin('c1', 't1')))).toEqual([{}, expect.objectContaining({ sequence: 1 }), {}]);
      await expect(late?.()).rejects.toThrow();
      expect(await all(database, 't_events')).toHaveLength(1);
    });

    it('calls a conflict of a repeat final only if no guard can hold again', async () => {
      let late: (() => Promise<unknown>) | undefined;
      const delayed = async (run: () => Promise<unknown>) => {
        late = run;
        throw databaseDown('The answer is late.');
      };
      await commit.add(begin('c0', 't1'));
      faults = [delayed];
      // Absent at the read, and committed after the device is free again: the caller was not told that nothing is written.
      expect(await commit.add(begin('c1', 't1'))).toBe('unclear');
      await sql`update t_devices set command_id = null`.execute(database.queries);
      await late?.();
      expect((await all(database, 't_commands')).map(({ id }) => id)).toEqual(['c0', 'c1']);
      faults = [delayed];
      expect(await commit.add({ writes: [{ table: 't_commands', key: ['c0'], guard: 9, set: { state: 'done' } }], inserts: [] })).toBe(
        'conflict',
      );
      await expect(late?.()).rejects.toThrow();
    });

    it('takes no row for its own that another unit may have written', async () => {
      const move = (guard: number, state: string): Unit => ({
        writes: [{ table: 't_invoices', key: ['oid'], guard, set: { state } }],
        inserts: [{ table: 't_history', row: { oid: 'oid', event: state } }],
      });
      await sql`insert into t_invoices (oid, version, state) values ('oid', 1, 'Scanned')`.execute(database.queries);
      faults = [
        async () => {
          await createCommit(database, tables).add(move(1, 'Payed'));
          throw databaseDown('The connection broke, and another gateway was faster.');
        },
      ];
      expect(await commit.add(move(1, 'Cancelled'))).toBe('conflict');
      expect(await all(database, 't_invoices')).toMatchObject([{ state: 'Payed' }]);
    });

    it('throws what is no answer of the database: too busy, or a fault of the unit', async () => {
      const busy = async () => {
        throw new DatabaseBusy(undefined);
      };
      faults = [busy, busy];
      await expect(commit.add(begin('c1', 't1'))).rejects.toThrow('too busy');
    });
  });
});
