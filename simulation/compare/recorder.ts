// Writes down what the old core does in a simulated day, for the comparison with the new one (replay.ts): every change of its rows in the order
// of the commits, by triggers in its own database, and every call with its arguments, its time and its answer. The arguments are turned into the
// events of the new core by the code that its routes use.

import { sql } from 'kysely';
import type { Queries } from '../../src/database/database.ts';
import { GatewayError } from '../../src/kernel/error-codes.ts';
import type { Presence } from '../../src/money/case.ts';
import { createDeviceCalls } from '../../src/money/device-calls.ts';
import type { CallEvent, Event } from '../../src/money/event.ts';
import type { GatewayLife } from '../gateway-life.ts';
import type { SharedStorage } from '../shared-storage.ts';
import type { ShopDevice } from '../shop-devices.ts';
import type { Passing } from '../wire.ts';

type Row = Record<string, string | number | null>;

/** A change of a row; `before`: null if it was inserted. */
export interface Change {
  seq: number;
  at: number;
  what: 'command' | 'invoice' | 'confirmed' | 'lost';
  id: string;
  before: Row | null;
  after: Row;
}

/** A call or a step of a person. Its decision was made at one moment between its first and its last change. */
export interface Called {
  event: Event;
  name: string;
  /** The gateway that was called. */
  instanceId: string;
  from: number;
  to: number | undefined;
  at: number;
  presence: readonly Readonly<Record<string, Presence>>[];
  answer: { code: string; fields: Row } | undefined;
}

/** The final answer of a device about a command, as it was sent. */
export interface Reported {
  outcome: string;
  report: Record<string, unknown> | undefined;
  journalId: string | undefined;
}

export interface Recording {
  merchantId: string;
  devices: readonly string[];
  changes: readonly Change[];
  calls: readonly Called[];
  reports: ReadonlyMap<string, readonly Reported[]>;
}

const watched = {
  commands: ['command', 'state', 'settled_by', 'document_state', 'accepted_at', 'contradiction', 'reviewed_at', 'ended_unknown_at'].concat([
    ...['review_since', 'outcome_missed_at', 'outcome_received_at', 'abort_requested_at', 'operation_id', 'receipt_id', 'report'],
  ]),
  invoices: ['invoice', 'state', 'receipt_id'],
} as const;

/** In the database of the day. */
export async function watchRows(queries: Queries): Promise<void> {
  await sql`create table compare_log (seq integer primary key, at int8, what text, id text, before text, after text)`.execute(queries);
  for (const [table, [what, ...columns]] of Object.entries(watched)) {
    const { rows } = await sql<{ name: string }>`select name from pragma_table_info(${table})`.execute(queries);
    const json = (of: string) => sql.raw(`json_object(${rows.map(({ name }) => `'${name}', ${of}.${name}`).join(', ')})`);
    const key = sql.raw(table === 'invoices' ? 'new.oid' : 'new.id');
    const log = (before: ReturnType<typeof sql>) =>
      sql`insert into compare_log (at, what, id, before, after) values (now_ms(), ${sql.lit(what)}, ${key}, ${before}, ${json('new')});`;
    await sql`create trigger ${sql.raw(`compare_insert_${table}`)} after insert on ${sql.raw(table)} begin ${log(sql`null`)} end`.execute(
      queries,
    );
    const isChanged = sql.raw(columns.map((column) => `old.${column} is not new.${column}`).join(' or '));
    await sql`create trigger ${sql.raw(`compare_update_${table}`)} after update on ${sql.raw(table)} when ${isChanged}
      begin ${log(json('old'))} end`.execute(queries);
  }
  await sql`create trigger compare_confirmed after delete on decisions begin
    insert into compare_log (at, what, id, before, after) values (now_ms(), 'confirmed', old.command_id, null, '{}'); end`.execute(queries);
  await sql`create trigger compare_lost after update on decisions when old.lost_at is null and new.lost_at is not null begin
    insert into compare_log (at, what, id, before, after) values (now_ms(), 'lost', old.command_id, null, json_object('device_id', new.device_id)); end`.execute(
    queries,
  );
}

interface Deps {
  storage: Pick<SharedStorage, 'peek' | 'isInTransaction'>;
  devices: readonly ShopDevice[];
  now(): number;
}

export function createRecorder({ storage, devices, now }: Deps) {
  const calls: Called[] = [];
  const reports = new Map<string, Reported[]>();
  const place = () => Number(storage.peek('select coalesce(max(seq), 0) as seq from compare_log', [])[0]?.['seq']);
  let committed = 0;
  /** What a transaction has written that is open now may be rolled back; other changes then take its numbers. */
  const committedPlace = () => {
    if (!storage.isInTransaction()) committed = place();
    return committed;
  };
  let captured: CallEvent | undefined;
  const eventOf = createDeviceCalls({
    calls: {
      call: async (event) => {
        captured = event;
        throw new Error('Only its event was wanted.');
      },
      status: () => Promise.reject(new Error('Not called.')),
    },
    random: { uuid: () => '' } as never,
    reading: {} as never,
  });

  function presenceAt(life: GatewayLife): Record<string, Presence> {
    return Object.fromEntries(
      devices.map(({ id, kind }) => [
        id,
        {
          kind,
          isDisabled: false,
          isOnline: life.link.presence.isLiveAnywhere(id),
          journalId: life.link.presence.journalOf(id, undefined) ?? null,
          features: life.link.presence.of(id)?.features,
        },
      ]),
    );
  }

  async function note(life: GatewayLife, name: string, event: Event, work: Promise<unknown>): Promise<void> {
    const called: Called = {
      ...{ event, name, instanceId: life.instanceId, at: now(), presence: [presenceAt(life)] },
      ...{ from: committedPlace(), to: undefined, answer: undefined },
    };
    calls.push(called);
    const end = (answer: Called['answer']) => {
      called.to = place();
      called.presence = [...called.presence, presenceAt(life)];
      called.answer = answer;
    };
    await work.then(
      (result) => end({ code: 'NoError', fields: (result ?? {}) as Row }),
      (error: unknown) => end(error instanceof GatewayError ? { code: error.errorName, fields: (error.fields ?? {}) as Row } : undefined),
    );
  }

  const wrapped = <Room extends object>(
    life: GatewayLife,
    room: Room,
    of: (name: string, args: readonly unknown[]) => Event | undefined,
  ): Room =>
    new Proxy(room, {
      get(target, name, receiver) {
        const method: unknown = Reflect.get(target, name, receiver);
        if (typeof method !== 'function') return method;
        return (...args: unknown[]) => {
          const event = of(String(name), args);
          const work: unknown = (method as (...all: unknown[]) => unknown).apply(target, args);
          if (event && work instanceof Promise) void note(life, String(name), event, work);
          return work;
        };
      },
    });

  function byRequest(room: 'cards' | 'fiscal') {
    return (name: string, [request]: readonly unknown[]): Event | undefined => {
      const { commandId, reason, actor } = request as Record<string, string>;
      if (name === 'closeDocumentByHand') return { type: 'CloseByHand', id: String(commandId), reason: String(reason), by: actor };
      captured = undefined;
      const method = (eventOf[room] as unknown as Record<string, (request: unknown) => Promise<unknown>>)[name];
      if (!method || name === 'lastTransaction') return undefined;
      void method(request).catch(() => undefined);
      return captured;
    };
  }

  return {
    passing({ kind, deviceId, message }: Passing): void {
      committedPlace();
      if (kind !== 'answer') return;
      const { id, outcome, report } = message as { id: string; outcome: string; report?: Record<string, unknown> };
      const device = devices.find((one) => one.id === deviceId);
      const journalId = device?.hasJournal ? device.device.journal().journalId : undefined;
      reports.set(id, [...(reports.get(id) ?? []), { outcome, report, journalId }]);
    },
    noting: (life: GatewayLife): GatewayLife => ({
      ...life,
      cards: wrapped(life, life.cards, byRequest('cards')),
      fiscal: wrapped(life, life.fiscal, byRequest('fiscal')),
      ledger: wrapped(life, life.ledger, ofPerson),
      invoices: wrapped(life, life.invoices, ofInvoice),
    }),
    recording(merchantId: string): Recording {
      const rows = storage.peek('select * from compare_log order by seq', []) as unknown as (Omit<Change, 'before' | 'after'> & {
        before: string | null;
        after: string;
      })[];
      const changes = rows.map((row) => ({
        ...row,
        before: row.before === null ? null : JSON.parse(row.before),
        after: JSON.parse(row.after),
      }));
      return { merchantId, devices: devices.map(({ id }) => id), changes, calls, reports };
    },
  };
}

function ofPerson(name: string, args: readonly unknown[]): Event | undefined {
  if (name === 'declareLost') {
    const { deviceId, reason, actor } = args[0] as Record<string, string>;
    return { type: 'HardwareLost', deviceId: String(deviceId), reason: String(reason), by: actor };
  }
  if (name !== 'decide') return undefined;
  const { state, reason, actor, operationId, rrn, closesReview, contradiction } = args[1] as Record<string, string | undefined>;
  const seen = closesReview ? { contradiction: contradiction ?? null } : {};
  return { type: 'Decide', id: String(args[0]), isDone: state === 'done', reason: String(reason), by: actor, operationId, rrn, ...seen };
}

function ofInvoice(name: string, [given]: readonly unknown[]): Event | undefined {
  if (name !== 'cancelInvoice') return undefined;
  const { oid, merchantId, reason } = given as Record<string, string>;
  return { type: 'CancelInvoice', oid: String(oid), merchantId: String(merchantId), reason };
}
