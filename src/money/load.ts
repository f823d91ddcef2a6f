// Loads the case of an event from the database: simple prepared selects by ids and names, never by state, in rounds until nothing is missing
// (wanted.ts), all from one snapshot. The same statements on both engines; each round is one round trip.
//
//   const load = createLoad({ database, surroundings, scanGraceMs });
//   const { case: facts } = await load(event);

import { type CompiledQuery, sql } from 'kysely';
import { type BatchColumns, listed, type RowsText, rowsAs, rowsText } from '../database/batch-rows.ts';
import type { Values } from '../database/commit-data.ts';
import type { Database, Queries, Read } from '../database/database.ts';
import { type Engine, forEachEngine } from '../database/dialect.ts';
import { deadAfterMs } from '../database/instances.ts';
import { keptQuery } from '../database/kept-statement.ts';
import type { Known } from './assume.ts';
import { type Case, type Id, nameKey, type Presence, type TableName, type TableRows } from './case.ts';
import type { Event } from './event.ts';
import { fromColumns, storedTable } from './tables.ts';
import { unusedName } from './unit.ts';
import { type Ref, refKey, type Subjects, wanted, wantedAround } from './wanted.ts';

/** What this gateway knows beside the rows. */
export interface Surroundings {
  /** What is connected as the device; `storedJournalId`: the journal that the device last reported. */
  live(deviceId: Id, storedJournalId: string | undefined): Pick<Presence, 'isOnline' | 'journalId' | 'features'>;
  /** Notes about delivery that are not written yet belong to the facts of a call: it may repeat an earlier one. */
  overlay?(op: Case['ops'][string], now: number): void;
}

export type Load = (event: Event) => Promise<Known>;

interface Deps {
  database: Pick<Database, 'engine' | 'queries' | 'snapshot'>;
  surroundings: Surroundings;
  scanGraceMs: number;
}

/** No case needs more: each round follows one more kind of reference. */
const maxRounds = 10;
/** A case is small; more rows under one name or payment come from a loop somewhere, whose calls are refused. */
const maxRowsPerStatement = 5_000;

export class CaseTooLarge extends Error {}

export function createLoad({ database, surroundings, scanGraceMs }: Deps): Load {
  // An event that writes such a note, or is guarded by it, sees what is stored.
  const { overlay, ...stored } = surroundings;
  return (event) =>
    readCase(database, {
      what: event.type,
      // Whose callers may be waiting concerns requests that are known by their content.
      asksWhoLives: 'requestHash' in event && event.requestHash !== undefined,
      showsReceipt: event.type === 'Get',
      draft: () => createDraft('newId' in event && overlay ? surroundings : stored, scanGraceMs),
      wanted: (c, looked) => wanted(event, c, looked),
    });
}

const away = { isOnline: false, journalId: null, features: undefined };

/** What is stored about some operations, devices and invoices, with nothing else that a gateway knows. */
export async function loadAround(database: Deps['database'], subjects: Subjects): Promise<Case> {
  const { case: found } = await readCase(database, {
    what: 'comparison',
    asksWhoLives: false,
    showsReceipt: false,
    draft: () => createDraft({ live: () => away }, 0),
    wanted: (c, looked) => wantedAround(subjects, c, looked),
  });
  return found;
}

/** What is loaded, and for what. */
interface Reading {
  what: string;
  asksWhoLives: boolean;
  showsReceipt: boolean;
  draft(): Drafted;
  wanted(c: Case, looked: ReadonlySet<string>): Ref[];
}

function readCase({ queries, engine, snapshot }: Deps['database'], reading: Reading): Promise<Known> {
  const ask = statements[engine];
  return snapshot(async (read) => {
    const draft = reading.draft();
    const looked = new Set<string>();
    for (let round = 0; round < maxRounds; round += 1) {
      const refs = reading.wanted(draft.case, looked);
      if (refs.length === 0 && round > 0) return { case: draft.finished(), looked };
      for (const ref of refs) looked.add(refKey(ref));
      await readRound(read, refs, draft, { queries, ask, reading, looked, isFirst: round === 0 });
    }
    throw new Error(`The case of ${reading.what} is never complete.`);
  });
}

type Asked<What extends Ref['what']> = Extract<Ref, { what: What }>[];

interface Round {
  queries: Queries;
  ask: (typeof statements)[Engine];
  reading: Reading;
  looked: Set<string>;
  isFirst: boolean;
}

async function readRound(
  read: Read,
  refs: readonly Ref[],
  draft: Drafted,
  { queries, ask, reading, looked, isFirst }: Round,
): Promise<void> {
  const of = <What extends Ref['what']>(what: What) => refs.filter((ref) => ref.what === what) as Asked<What>;
  const list: CompiledQuery[] = [];
  const takers: ((rows: readonly Values[]) => void)[] = [];
  const add = <Columns extends BatchColumns>(
    statement: Statement<Columns>,
    rows: readonly Record<string, unknown>[],
    take: (row: Values) => void,
  ) => {
    if (rows.length === 0) return;
    list.push(statement.bind(queries, { rows: rowsText(statement.columns, rows as never) }));
    takers.push((found) => {
      if (found.length > maxRowsPerStatement)
        throw new CaseTooLarge(`More than ${maxRowsPerStatement} rows belong to one ${reading.what}.`);
      for (const row of found) take(row);
    });
  };

  if (isFirst) {
    list.push(ask.now(queries, {}));
    takers.push(([row]) => draft.setNow(Number(row?.['now'])));
    if (reading.asksWhoLives) {
      list.push(ask.living(queries, {}));
      takers.push((rows) => draft.setLiving(rows.map((row) => String(row['id']))));
    }
  }
  const sales = of('sale');
  for (const { id } of sales) draft.addSale(id);
  add(
    ask.ops,
    [...of('op'), ...sales].map(({ id }) => ({ id })),
    draft.addOp,
  );
  add(
    ask.followers,
    sales.map(({ id }) => ({ id })),
    draft.addOp,
  );
  add(
    ask.prints,
    sales.map(({ id }) => ({ id })),
    draft.addOp,
  );
  add(
    ask.bankNumbers,
    of('operations').map(({ deviceId, operationId }) => ({ device_id: deviceId, operation_id: operationId })),
    draft.addOp,
  );
  add(
    ask.devices,
    of('device').map(({ id }) => ({ id })),
    draft.addDevice,
  );
  const names = of('name');
  for (const { merchantId, value } of names) draft.addName(merchantId, value);
  add(
    ask.names,
    names.map(({ merchantId, value }) => ({ merchant_id: merchantId, value })),
    draft.addRow('names'),
  );
  add(
    ask.keys,
    of('key').map(({ merchantId, key }) => ({ merchant_id: merchantId, key })),
    draft.addRow('keys'),
  );
  const oids = of('invoice').map(({ oid }) => ({ oid }));
  add(reading.showsReceipt ? ask.invoicesShown : ask.invoices, oids, (row) => looked.add(refKey(draft.addInvoice(row))));
  add(ask.orphans, oids, draft.addRow('orphans'));
  add(ask.numbersOf, oids, draft.addRow('names'));

  const results = await read(list);
  for (const [at, take] of takers.entries()) take((results[at] ?? []) as Values[]);
}

type Drafted = ReturnType<typeof createDraft>;

function createDraft(surroundings: Surroundings, scanGraceMs: number) {
  let now = 0;
  let living: ReadonlySet<string> = new Set();
  const instances = new Map<Id, string>();
  const waitedFor = new Set<Id>();
  const sales = new Set<Id>();
  const presence: Record<string, Presence> = {};
  const rows = { ops: {}, devices: {}, names: {}, keys: {}, invoices: {}, orphans: {} } satisfies Record<TableName, object>;
  const c: Case = { now, scanGraceMs, isAssumed: false, ...rows, presence, sales, waitedFor, roots: [] };
  const put = <Table extends TableName>(table: Table, row: Values): TableRows[Table] => {
    const found = fromColumns(table, row);
    const fields = found as unknown as Record<string, string>;
    const key = storedTable(table).key.map((field) => fields[field]);
    (c[table] as Record<string, TableRows[Table]>)[key.join(' ')] = found;
    return found;
  };

  return {
    case: c,
    setNow(time: number): void {
      now = time;
      (c as { now: number }).now = time;
    },
    setLiving(ids: readonly string[]): void {
      living = new Set(ids);
    },
    addSale: (id: Id) => void sales.add(id),
    addName(merchantId: Id, value: string): void {
      (c.names as Record<string, Case['names'][string]>)[nameKey(merchantId, value)] ??= unusedName(merchantId, value);
    },
    /** With what its OID stands for as a number: the row of that name comes in the same round. */
    addInvoice(row: Values): Ref {
      const { merchantId, oid } = put('invoices', row);
      (c.names as Record<string, Case['names'][string]>)[nameKey(merchantId, oid)] ??= unusedName(merchantId, oid);
      return { what: 'name', merchantId, value: oid };
    },
    addRow: (table: TableName) => (row: Values) => void put(table, row),
    addOp(row: Values): void {
      const op = put('ops', row);
      instances.set(op.id, String(row['instance_id']));
      surroundings.overlay?.(op, now);
    },
    addDevice(row: Values): void {
      const { id } = put('devices', row);
      const { device_merchant_id: merchantId, kind, disabled_at: disabledAt, stored_journal_id: stored } = row;
      presence[nameKey(String(merchantId), id)] = {
        kind: kind as Presence['kind'],
        isDisabled: disabledAt !== null,
        ...surroundings.live(id, (stored as string | null) ?? undefined),
      };
    },
    finished(): Case {
      for (const [id, instance] of instances) if (living.has(instance)) waitedFor.add(id);
      return c;
    },
  };
}

interface Statement<Columns extends BatchColumns> {
  columns: Columns;
  bind(queries: Queries, given: { rows: RowsText<Columns> }): CompiledQuery;
}

const byId = { id: 'text' } as const;

const statements = forEachEngine((engine) => {
  /** The columns of a table but those that no rule reads, of the rows that `from` joins as "row" to the table of what is asked for. */
  const select = <Columns extends BatchColumns>(
    columns: Columns,
    table: TableName,
    from: string,
    { leaveOut = [], also = '' }: { leaveOut?: readonly string[]; also?: string } = {},
  ): Statement<Columns> => {
    const own = Object.fromEntries(
      Object.values(storedTable(table).fields).flatMap((field) =>
        Object.entries(field.columns).filter(([name]) => !leaveOut.includes(name)),
      ),
    );
    const shown = sql`${listed(own, (column) => `"row"."${column}"`)}${sql.raw(also)}`;
    return {
      columns,
      bind: keptQuery((queries, { rows }: { rows: RowsText<Columns> }) =>
        sql`select ${shown} from ${rowsAs(engine, 'asked', columns, rows as never)} ${sql.raw(from)}
          limit ${sql.lit(maxRowsPerStatement + 1)}`.compile(queries),
      ),
    };
  };
  const commands = (columns: BatchColumns, from: string) =>
    select(columns, 'ops', from, { leaveOut: ['args'], also: ', "row"."instance_id"' });
  const invoice = { oid: 'text' } as const;
  const ofInvoice = `join "invoices" as "row" on "row"."oid" = "asked"."oid"`;
  return {
    now: keptQuery<object, unknown>((queries) => sql`select now_ms() as "now"`.compile(queries)),
    living: keptQuery<object, unknown>((queries) =>
      sql`select "id" from "instances" where "stopped_at" is null and "heartbeat_at" > now_ms() - ${sql.lit(deadAfterMs)}`.compile(queries),
    ),
    ops: commands(byId, `join "commands" as "row" on "row"."id" = "asked"."id"`),
    followers: commands(byId, `join "commands" as "row" on "row"."target_id" = "asked"."id"`),
    prints: commands(
      byId,
      `join "printed_payments" as "print" on "print"."payment_id" = "asked"."id" join "commands" as "row" on "row"."id" = "print"."print_id"`,
    ),
    bankNumbers: commands(
      { device_id: 'text', operation_id: 'text' },
      `join "bank_operations" as "number" on "number"."device_id" = "asked"."device_id" and "number"."operation_id" = "asked"."operation_id"
       join "commands" as "row" on "row"."id" = "number"."payment_id"`,
    ),
    devices: select(
      byId,
      'devices',
      `join "device_locks" as "row" on "row"."device_id" = "asked"."id" join "devices" as "device" on "device"."id" = "asked"."id"`,
      {
        also: ', "device"."merchant_id" as "device_merchant_id", "device"."kind", "device"."disabled_at", "device"."journal_id" as "stored_journal_id"',
      },
    ),
    names: select(
      { merchant_id: 'text', value: 'text' },
      'names',
      `join "names" as "row" on "row"."merchant_id" = "asked"."merchant_id" and "row"."value" = "asked"."value"`,
    ),
    keys: select(
      { merchant_id: 'text', key: 'text' },
      'keys',
      `join "idempotency_keys" as "row" on "row"."merchant_id" = "asked"."merchant_id" and "row"."key" = "asked"."key"`,
    ),
    invoices: select(invoice, 'invoices', ofInvoice, { leaveOut: ['receipt'] }),
    invoicesShown: select(invoice, 'invoices', ofInvoice),
    numbersOf: select(
      invoice,
      'names',
      `join "invoices" as "invoice" on "invoice"."oid" = "asked"."oid"
       join "names" as "row" on "row"."merchant_id" = "invoice"."merchant_id" and "row"."value" = "asked"."oid"`,
    ),
    orphans: select(invoice, 'orphans', `join "orphan_payments" as "row" on "row"."oid" = "asked"."oid"`),
  };
});
