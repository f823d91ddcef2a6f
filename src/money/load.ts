// Loads the case of an event from the database: simple prepared selects by ids and names, never by state, in rounds until nothing is missing
// (wanted.ts), all from one snapshot. The same statements on both engines; each round is one round trip. Events that arrive together share
// snapshot and rounds, as units share a commit; each has its own case.
//
//   const load = createLoad({ database, surroundings, scanGraceMs });
//   const { case: facts } = await load(event);

import { type CompiledQuery, type RawBuilder, sql } from 'kysely';
import { type BatchColumns, listed, oneRowAs, type RowsText, rowsAs, rowsText } from '../database/batch-rows.ts';
import type { Values } from '../database/commit-data.ts';
import type { Database, Queries, Read } from '../database/database.ts';
import { type Engine, forEachEngine } from '../database/dialect.ts';
import { createGroup } from '../database/group.ts';
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

type Home = Pick<Database, 'engine' | 'queries' | 'snapshot'>;

interface Deps {
  database: Home & Pick<Database, 'soon'>;
  surroundings: Surroundings;
  scanGraceMs: number;
}

/** No case needs more: each round follows one more kind of reference. */
const maxRounds = 10;
/** A case is small; more rows under one name or payment come from a loop somewhere, whose calls are refused. */
const maxRowsPerStatement = 5_000;
const maxEvents = 32;
/** Longer receipts are read alone. */
const maxSharedReceipt = 16_384;

export class CaseTooLarge extends Error {}

/** What a removal keeps of the receipt, it takes from there. */
const showsReceipt = (event: Event) => event.type === 'Get' || event.type === 'RemoveInvoice';

export function createLoad({ database, surroundings, scanGraceMs }: Deps): Load {
  // An event that writes such a note, or is guarded by it, sees what is stored.
  const { overlay, ...stored } = surroundings;
  const toRead = (event: Event): Reading => ({
    what: event.type,
    // Whose callers may be waiting concerns requests that are known by their content.
    asksWhoLives: 'requestHash' in event && event.requestHash !== undefined,
    showsReceipt: showsReceipt(event),
    draft: () => createDraft('newId' in event && overlay ? surroundings : stored, scanGraceMs),
    wanted: (c, looked) => wanted(event, c, looked),
  });
  const together = (events: readonly Event[]) => readCases(database, events.map(toRead));
  const alone = (event: Event) => readCase(database, toRead(event));
  // A case that is too large fails the others of its group, which are then loaded one by one.
  const group = createGroup<Event, Known>({ soon: database.soon, namesOf: () => [], maxRows: maxEvents, together, alone });
  return async (event) => {
    const known = await group.add(event);
    return showsReceipt(event) && known.case.invoices[event.oid]?.receipt === null ? alone(event) : known;
  };
}

const away = { isOnline: false, journalId: null, features: undefined };

/** What is stored about some operations, devices and invoices, with nothing else that a gateway knows. */
export async function loadAround(database: Home, subjects: Subjects): Promise<Case> {
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

interface Loading {
  reading: Reading;
  draft: Drafted;
  looked: Set<string>;
  /** What the next round reads for it. */
  refs: readonly Ref[];
}

const readCase = async (database: Home, reading: Reading): Promise<Known> => (await readCases(database, [reading]))[0] as Known;

/** Of one snapshot. */
function readCases({ queries, engine, snapshot }: Home, readings: readonly Reading[]): Promise<Known[]> {
  const ask = statements[engine];
  return snapshot(async (read) => {
    const all = readings.map((reading): Loading => ({ reading, draft: reading.draft(), looked: new Set(), refs: [] }));
    let open = all;
    for (let round = 0; round < maxRounds; round += 1) {
      for (const one of open) one.refs = one.reading.wanted(one.draft.case, one.looked);
      if (round > 0) open = open.filter(({ refs }) => refs.length > 0);
      if (open.length === 0) return all.map(({ draft, looked }) => ({ case: draft.finished(), looked }));
      for (const { refs, looked } of open) for (const ref of refs) looked.add(refKey(ref));
      await readRound(read, open, { queries, ask, isFirst: round === 0 });
    }
    throw new Error(`The case of ${open.map(({ reading }) => reading.what).join(', ')} is never complete.`);
  });
}

type Asked<What extends Ref['what']> = Extract<Ref, { what: What }>;
type Names = Readonly<Record<string, string>>;

interface Round {
  queries: Queries;
  ask: (typeof statements)[Engine];
  isFirst: boolean;
}

/** One round trip for all of them. A row that several ask for is read once. */
async function readRound(read: Read, asking: readonly Loading[], { queries, ask, isFirst }: Round): Promise<void> {
  const list: CompiledQuery[] = [];
  const takers: ((rows: readonly Values[]) => void)[] = [];

  function add<What extends Ref['what']>(
    statement: Statement,
    kinds: readonly What[],
    askedOf: (ref: Asked<What>) => Names,
    take: (row: Values, loading: Loading) => void,
    isMeant: (reading: Reading) => boolean = () => true,
  ): void {
    const asked = new Map<string, { names: Names; by: Set<Loading> }>();
    for (const loading of asking)
      for (const ref of loading.refs) {
        if (!(kinds as readonly string[]).includes(ref.what) || !isMeant(loading.reading)) continue;
        const names = askedOf(ref as Asked<What>);
        const key = Object.values(names).join(mark);
        const known = asked.get(key);
        if (known) known.by.add(loading);
        else asked.set(key, { names, by: new Set([loading]) });
      }
    if (asked.size === 0) return;
    list.push(
      statement.of(
        queries,
        [...asked.values()].map(({ names }) => names),
      ),
    );
    takers.push((found) => {
      if (found.length > maxRowsPerStatement) throw new CaseTooLarge(`More than ${maxRowsPerStatement} rows belong to one case.`);
      for (const row of found) for (const loading of asked.get(statement.askedBy(row))?.by ?? []) take(row, loading);
    });
  }

  if (isFirst) {
    list.push(ask.now(queries, {}));
    takers.push(([row]) => {
      for (const { draft } of asking) draft.setNow(Number(row?.['now']));
    });
    const byContent = asking.filter(({ reading }) => reading.asksWhoLives);
    if (byContent.length > 0) {
      list.push(ask.living(queries, {}));
      takers.push((rows) => {
        for (const { draft } of byContent) draft.setLiving(rows.map((row) => String(row['id'])));
      });
    }
  }
  for (const { refs, draft } of asking)
    for (const ref of refs) {
      if (ref.what === 'sale') draft.addSale(ref.id);
      if (ref.what === 'name') draft.addName(ref.merchantId, ref.value);
    }
  const addOp = (row: Values, { draft }: Loading) => draft.addOp(row);
  const addRow = (table: TableName) => (row: Values, loading: Loading) => loading.draft.addRow(table, row);
  const addInvoice = (row: Values, { draft, looked }: Loading) => void looked.add(refKey(draft.addInvoice(row)));
  const byOid = ({ oid }: Asked<'invoice'>) => ({ oid });
  const isShown = ({ showsReceipt }: Reading) => showsReceipt;
  add(ask.ops, ['op', 'sale'], ({ id }) => ({ id }), addOp);
  add(ask.followers, ['sale'], ({ id }) => ({ id }), addOp);
  add(ask.prints, ['sale'], ({ id }) => ({ id }), addOp);
  add(ask.bankNumbers, ['operations'], ({ deviceId, operationId }) => ({ device_id: deviceId, operation_id: operationId }), addOp);
  add(
    ask.devices,
    ['device'],
    ({ id }) => ({ id }),
    (row, { draft }) => draft.addDevice(row),
  );
  add(ask.names, ['name'], ({ merchantId, value }) => ({ merchant_id: merchantId, value }), addRow('names'));
  add(ask.keys, ['key'], ({ merchantId, key }) => ({ merchant_id: merchantId, key }), addRow('keys'));
  add(ask.invoices, ['invoice'], byOid, addInvoice, (reading) => !isShown(reading));
  add(ask.invoicesShown, ['invoice'], byOid, addInvoice, isShown);
  add(ask.orphans, ['invoice'], byOid, addRow('orphans'));
  add(ask.numbersOf, ['invoice'], byOid, addRow('names'));

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
    addRow: (table: TableName, row: Values) => void put(table, row),
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

interface Statement {
  of(queries: Queries, rows: readonly Names[]): CompiledQuery;
  /** What a found row was asked for by, as one text. */
  askedBy(row: Values): string;
}

const mark = '\u0000';
const byId = { id: 'text' } as const;

const statements = forEachEngine((engine) => {
  /** The columns of a table but those that no rule reads, of the rows that `from` joins as "row" to the table of what is asked for. */
  const select = (
    columns: BatchColumns,
    table: TableName,
    from: string,
    { leaveOut = [], bounded, also = '' }: { leaveOut?: readonly string[]; bounded?: string; also?: string } = {},
  ): Statement => {
    const own = Object.fromEntries(
      Object.values(storedTable(table).fields).flatMap((field) =>
        Object.entries(field.columns).filter(([name]) => !leaveOut.includes(name)),
      ),
    );
    const asked = Object.keys(columns);
    const names = sql.raw(asked.map((name) => `, "asked"."${name}" as "asked-${name}"`).join(''));
    const selecting = (rows: RawBuilder<unknown>, isAlone: boolean) => {
      const isBounded = (column: string) => column === bounded && !isAlone;
      const short = (column: string) => `case when length(${column}) <= ${maxSharedReceipt} then ${column} end`;
      const shown = listed(own, (column) => (isBounded(column) ? `${short(`"row"."${column}"`)} as "${column}"` : `"row"."${column}"`));
      return sql`select ${shown}${sql.raw(also)}${names} from ${rows} ${sql.raw(from)} limit ${sql.lit(maxRowsPerStatement + 1)}`;
    };
    const one = keptQuery((queries, row: Names) => selecting(oneRowAs(engine, 'asked', columns, row), true).compile(queries));
    const many = keptQuery((queries, { rows }: { rows: RowsText<BatchColumns> }) =>
      selecting(rowsAs(engine, 'asked', columns, rows), false).compile(queries),
    );
    return {
      of(queries, rows) {
        const [row] = rows;
        return row && rows.length === 1 ? one(queries, row) : many(queries, { rows: rowsText(columns, rows as never) });
      },
      askedBy: (row) => asked.map((name) => row[`asked-${name}`]).join(mark),
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
    invoicesShown: select(invoice, 'invoices', ofInvoice, { bounded: 'receipt' }),
    numbersOf: select(
      invoice,
      'names',
      `join "invoices" as "invoice" on "invoice"."oid" = "asked"."oid"
       join "names" as "row" on "row"."merchant_id" = "invoice"."merchant_id" and "row"."value" = "asked"."oid"`,
    ),
    orphans: select(invoice, 'orphans', `join "orphan_payments" as "row" on "row"."oid" = "asked"."oid"`),
  };
});
