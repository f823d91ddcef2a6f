// The last committed case of each device, in this gateway's memory: the end of a command and the CloseDoc after a payment start from it
// instead of a query. Its units are guarded by the values of the device and by the versions of all other rows, so what another gateway has
// changed since makes them fail, and the event is decided again from loaded facts.
import type { Committed } from '../database/commit.ts';
import type { Unit, Values } from '../database/commit-data.ts';
import { BoundedMap } from '../kernel/bounded-map.ts';
import type { Known } from './assume.ts';
import type { Case, Id, Op, Presence, TableName } from './case.ts';
import type { Event, Of } from './event.ts';
import { isPayment } from './rules/facts.ts';
import { storedTable, tableNames } from './tables.ts';
import { refKey, wanted } from './wanted.ts';

const maxDevices = 10_000;
/** A case with more rows is not worth its memory. */
const maxOps = 20;

export interface Memory {
  /** Undefined: the event needs a row that is not remembered. */
  recall(event: Event): Known | undefined;
  /** `after`: the case that was committed. */
  remember(known: Known, after: Case, unit: Unit, committed: Committed): void;
  forget(event: Event): void;
}

/** `live`: what is connected as a device now. */
export function createMemory(live: (deviceId: Id, storedJournalId: string | undefined) => Partial<Presence>): Memory {
  const cases = new BoundedMap<Id, Known>(maxDevices);
  const deviceOf = new BoundedMap<Id, Id>(maxDevices);
  const deviceIn = (event: Event): Id | undefined => {
    if (event.type === 'CloseDoc') return event.deviceId;
    return 'id' in event && event.type !== 'Outcome' && event.type !== 'Decide' ? deviceOf.get(event.id) : undefined;
  };

  const present = (c: Case): Case => {
    const presence = Object.entries(c.presence).map(([key, known]): [string, Presence] => {
      const deviceId = key.slice(key.indexOf(' ') + 1);
      return [key, { ...known, ...live(deviceId, known.journalId ?? undefined) }];
    });
    return { ...c, presence: Object.fromEntries(presence) };
  };

  return {
    recall(event) {
      const known = cases.get(deviceIn(event) ?? '');
      if (!known) return undefined;
      const looked = event.type === 'CloseDoc' ? withDocument(known, event) : known.looked;
      return looked && wanted(event, known.case, looked).length === 0 ? { case: present(known.case), looked } : undefined;
    },
    remember(known, after, unit, committed) {
      const kept = committedCase(after, unit, committed);
      const ops = Object.values(kept.ops);
      const [deviceId, ...others] = Object.keys(kept.devices);
      // A sale by QR knows nothing of what is on its device.
      if (deviceId === undefined || others.length > 0 || ops.length === 0 || ops.length > maxOps) return;
      cases.delete(deviceId);
      cases.set(deviceId, { case: kept, looked: new Set([...known.looked, ...ops.flatMap(lookedOf)]) });
      for (const { id } of ops) deviceOf.set(id, deviceId);
    },
    forget(event) {
      const deviceId = deviceIn(event);
      if (deviceId !== undefined) cases.delete(deviceId);
    },
  };
}

/** Whatever refers to a new payment is written by a unit that changes its row, or its device's. */
const lookedOf = (op: Op): string[] => [refKey({ what: 'op', id: op.id }), ...(isPayment(op) ? [refKey({ what: 'sale', id: op.id })] : [])];

/**
 * The document that locks the device is that of its newest payment, so a call with its numbers is about that payment, whatever others have
 * the same number of the bank. That the key is unused is assumed: to insert it again fails.
 */
function withDocument({ case: c, looked }: Known, event: Of<'CloseDoc'>): ReadonlySet<string> | undefined {
  const { deviceId, operationId, documentNr, paymentId, merchantId, key } = event;
  const document = c.ops[c.devices[deviceId]?.documentId ?? ''];
  if (!document || paymentId !== undefined || document.merchantId !== merchantId) return undefined;
  if (document.operationId !== operationId || document.documentNr !== documentNr) return undefined;
  const number = refKey({ what: 'operations', deviceId, operationId });
  return new Set([...looked, number, ...(key ? [refKey({ what: 'key', merchantId, key: key.key })] : [])]);
}

/** With the versions that the commit has raised, and what the database has filled in. */
function committedCase(after: Case, { writes, inserts }: Unit, { assigned, now }: Committed): Case {
  const tables = Object.fromEntries(tableNames.map((name) => [name, { ...after[name] }])) as unknown as Record<
    TableName,
    Record<string, object>
  >;
  for (const { table, key, isLate } of writes) {
    const name = tableOf(table);
    if (name && !isLate) raise(tables[name], name, key.join(' '));
  }
  for (const [at, { table, row }] of inserts.entries()) {
    const name = tableOf(table);
    if (name) insert(tables[name], name, row, assigned[at] ?? {});
  }
  return { ...after, ...(tables as unknown as Case), now, isAssumed: false, isRemembered: true, roots: [] };
}

const tablesByName = new Map(tableNames.map((name) => [storedTable(name).table, name]));
const tableOf = (table: string): TableName | undefined => tablesByName.get(table);

function raise(rows: Record<string, object>, name: TableName, key: string): void {
  const { version } = storedTable(name);
  const row = rows[key] as Record<string, unknown> | undefined;
  if (row && version !== undefined) rows[key] = { ...row, [version]: Number(row[version]) + 1 };
}

const keyColumns = new Map(
  tableNames.map((name) => {
    const { key, fields } = storedTable(name);
    return [name, key.flatMap((field) => Object.keys(fields[field]?.columns ?? {}))];
  }),
);
/** Those that the database may fill in. */
const filledFields = new Map(
  tableNames.map((name) => {
    const { fields, assigned = {} } = storedTable(name);
    return [name, Object.entries(fields).filter(([, { columns }]) => Object.keys(columns).some((column) => column in assigned))];
  }),
);

function insert(rows: Record<string, object>, name: TableName, row: Values, assigned: Values): void {
  const { version } = storedTable(name);
  const place = keyColumns.get(name)?.map((column) => String(row[column])) ?? [];
  const known = rows[place.join(' ')] as Record<string, unknown> | undefined;
  if (!known) return;
  const next = { ...known, ...(version === undefined ? {} : { [version]: 1 }) };
  for (const [field, { columns, read }] of filledFields.get(name) ?? [])
    if (Object.keys(columns).some((column) => column in assigned)) next[field] = read(assigned);
  rows[place.join(' ')] = next;
}
