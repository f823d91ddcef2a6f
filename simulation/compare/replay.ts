// The events of a day of the old core once more, through `decide` of the new one, on a ledger in memory (exploration/gateway.ts). Every change
// that the old core committed is an event at its place in the order of commits; what it led to is compared. A call that changed nothing was
// decided at some moment between its begin and its answer: it is equal if the new core gives that answer at one of those moments.
import { plan, run } from '../../exploration/gateway.ts';
import { load, type Surroundings } from '../../exploration/memory-load.ts';
import { commitTo, emptyLedger, type Ledger, rowOf } from '../../exploration/memory-store.ts';
import type { Ending, Op, Presence, Source } from '../../src/money/case.ts';
import { nameKey } from '../../src/money/case.ts';
import type { Answer, Event } from '../../src/money/event.ts';
import { toColumns } from '../../src/money/tables.ts';
import { freeDevice } from '../../src/money/unit.ts';
import type { Called, Change, Recording } from './recorder.ts';

export interface Difference {
  /** Of which event. */
  what: string;
  id: string;
  old: string;
  new: string;
}

export interface Compared {
  equal: Record<string, number>;
  differences: Difference[];
  /** By reason. */
  notComparable: Record<string, number>;
}

type Row = Change['after'];
interface Moment {
  seq: number;
  ledger: Ledger;
}

const isOpen = ({ state }: Row) => state === 'sent' || state === 'unknown';
const kinds: Readonly<Record<string, string>> = { Print: 'PrintReceipt' };
const kindOf = (event: Event): string => (event.type === 'Plain' ? event.kind : (kinds[event.type] ?? event.type));
/** The gateway could not decide, or was not asked about money. */
const unavailable = new Set(['Internal_error', 'Error_Connection_Database', 'Too_Many_Requests', 'Invalid_Request']);

export function replay({ merchantId, devices, changes, calls, reports }: Recording): Compared {
  const compared: Compared = { equal: {}, differences: [], notComparable: {} };
  const count = (to: Record<string, number>, what: string) => {
    to[what] = (to[what] ?? 0) + 1;
  };
  const equal = (what: string) => count(compared.equal, what);
  const skip = (why: string) => count(compared.notComparable, why);
  /** Operations, and devices by what they did, about which the two ledgers differ already. */
  const strayed = new Set<string>();
  const differ = (what: string, id: string, old: unknown, neu: unknown) => {
    compared.differences.push({ what, id, old: String(old), new: String(neu) });
    // What was only answered differently goes on alike.
    if (!what.startsWith('answer')) strayed.add(id);
  };

  let ledger = commitTo(
    emptyLedger,
    { writes: [], inserts: devices.map((id) => ({ table: 'device_locks', row: toColumns('devices', { ...freeDevice(id) }) })) },
    0,
  ) as Ledger;
  const moments: Moment[] = [{ seq: 0, ledger }];
  const reissued = new Map(changes.flatMap(({ id, after }) => (after['reissued_as'] ? [[String(after['reissued_as']), id]] : [])));
  const claimed = new Map<string, Called>();
  const begins = new Map<Called, string>();
  const opOf = (id: string, from: Ledger = ledger): Op | undefined => {
    const row = from['commands']?.[id];
    return row && rowOf('ops', row);
  };

  const around = (now: number, presence: Readonly<Record<string, Presence>>): Surroundings => ({
    now,
    presence: Object.fromEntries(Object.entries(presence).map(([id, one]) => [nameKey(merchantId, id), one])),
    waitedFor: new Set([...claimed].filter(([, call]) => call.to === undefined || call.to > (moments.at(-1)?.seq ?? 0)).map(([id]) => id)),
  });

  /** Undefined: a unit that was decided from this ledger does not commit. */
  function commit(event: Event, seq: number, now: number, presence: Readonly<Record<string, Presence>> = {}): Answer | undefined {
    const ran = run(ledger, event, around(now, presence));
    ledger = ran.ledger;
    moments.push({ seq, ledger });
    return ran.answer;
  }

  const isOf = (call: Called, { id, after }: Change): boolean => {
    const { event } = call;
    if (!('newId' in event) || !('deviceId' in event) || claimed.get(id) || begins.has(call)) return false;
    if (event.deviceId !== after['device_id'] || kindOf(event) !== after['name'] || call.instanceId !== after['instance_id']) return false;
    if ('documentNr' in event && event.type !== 'Pay') return (event.operationId || null) === after['operation_id'];
    if (event.type === 'Pay') return (event.documentNr ?? null) === after['document_nr'] && event.amountBani === after['amount_bani'];
    if (event.type !== 'Print') return after['request_hash'] === null || event.requestHash === after['request_hash'];
    const uid = event.receipt['Uid'];
    return (
      (typeof uid === 'string' ? uid.toLowerCase() : null) === after['receipt_uid'] && event.contentHashes[0] === after['content_hash']
    );
  };
  const during = (seq: number) => (call: Called) => call.from < seq && (call.to === undefined || call.to >= seq);

  function begun(change: Change): void {
    const { seq, id, after } = change;
    const again = reissued.get(id);
    const possible = calls.filter((call) => during(seq)(call) && isOf(call, change));
    const call = (again && claimed.get(again)) ?? possible.find(({ answer }) => answer?.fields['OID'] === id) ?? possible[0];
    if (!call) {
      strayed.add(id);
      return skip('an operation that was begun by no call that is known');
    }
    // The old core settles the expired one in the same commit, afterwards.
    if (again)
      commit(
        { type: 'Report', id: again, outcome: 'expired', source: 'answer', journalId: opOf(again)?.journalId ?? undefined },
        seq,
        change.at,
      );
    claimed.set(id, call);
    begins.set(call, id);
    const deviceId = String(after['device_id']);
    const seen = call.presence[0]?.[deviceId];
    const presence = { ...call.presence[0], [deviceId]: { ...seen, isOnline: true, journalId: after['journal_id'] } as Presence };
    const event = {
      ...call.event,
      newId: id,
      hasWaited: true,
      answered: Object.values(ledger['commands'] ?? {}).map((row) => String(row['id'])),
    };
    const answer = commit(event, seq, Number(after['issued_at']), presence);
    const op = opOf(id);
    const what = `begin of ${after['name']}`;
    if (!op) return differ(what, id, 'begun', `${answer?.code} ${answer?.fields.State ?? ''}`);
    if (op.targetId !== after['target_id']) return differ(what, id, `about ${after['target_id']}`, `about ${op.targetId}`);
    if (again) compared.differences.push({ what: 'begun again', id, old: 'begun again by the gateway', new: 'by the repeat of the ERP' });
    else equal(what);
  }

  /** What the change is to the new core; undefined: a consequence of another change. */
  function eventOf({ id, seq, before, after }: Change): Event | undefined {
    if (!before) return undefined;
    const said = reports.get(id) ?? [];
    const person = calls.find((call) => during(seq)(call) && call.event.type === 'Decide' && call.event.id === id)?.event;
    const own = (after['journal_id'] as string | null) ?? undefined;
    if (after['state'] === 'disputed' && before['state'] !== 'disputed') {
      const outcome = after['outcome'] as Ending;
      const report = after['report'] === null ? undefined : JSON.parse(String(after['report']));
      return { type: 'Report', id, outcome, source: 'recall', report, journalId: own };
    }
    if (isOpen(before) && !isOpen(after)) {
      if (after['settled_by'] === 'person') return person;
      const { outcome, settled_by: source, report, reason } = after;
      if (source === 'gateway') return { type: 'NotSent', id, reason: String(reason ?? '') };
      if (source === 'last-transaction' && after['state'] === 'never') return { type: 'LastIsAnother', id };
      const journalId = said.findLast((one) => one.outcome === outcome)?.journalId ?? (after['journal_id'] as string | null) ?? undefined;
      return {
        ...{
          type: 'Report',
          id,
          outcome: outcome as Ending,
          source: source as Source,
          reason: reason === null ? undefined : String(reason),
        },
        ...{ report: report === null ? undefined : JSON.parse(String(report)), journalId },
      };
    }
    const isReviewed = before['reviewed_at'] === null && after['reviewed_at'] !== null;
    if (before['state'] === 'disputed' || (isReviewed && !isOpen(after)))
      return person && ({ ...person, contradiction: opOf(id)?.contradiction ?? null } as Event);
    if (before['review_since'] === null && after['review_since'] !== null) {
      const reason = String(after['review_reason']);
      if (/last transaction is another/.test(reason)) return { type: 'LastIsAnother', id };
      if (/now says that it never began/.test(reason))
        return { type: 'Report', id, outcome: 'never', source: 'recall', journalId: own, wasAccepted: true };
      if (/its journal is not the one/.test(reason))
        return { type: 'Report', id, outcome: 'never', source: 'recall', journalId: 'another' };
    }
    if (isOpen(after) && before['ended_unknown_at'] === null && after['ended_unknown_at'] !== null)
      return { type: 'Report', id, outcome: 'unknown', source: 'answer', journalId: (after['journal_id'] as string | null) ?? undefined };
    if (before['state'] === 'sent' && after['state'] === 'unknown') return { type: 'Deadline', id, isContactLost: true };
    if (isOpen(after) && before['accepted_at'] === null && after['accepted_at'] !== null) return { type: 'Accepted', id };
    if (before['outcome_received_at'] === null && after['outcome_received_at'] !== null) return { type: 'Delivery', id, was: 'received' };
    if (before['outcome_missed_at'] !== after['outcome_missed_at'] && after['outcome_missed_at'] !== null)
      return { type: 'Delivery', id, was: 'missed' };
    const byHand = calls.find((call) => during(seq)(call) && call.event.type === 'CloseByHand' && call.event.id === id);
    return before['document_state'] === 'open' && after['document_state'] === 'closed' ? byHand?.event : undefined;
  }

  function changed(change: Change): void {
    const { seq, at, id, after, before } = change;
    if (strayed.has(id)) return skip('follows an earlier difference');
    if (before && before['abort_requested_at'] === null && after['abort_requested_at'] !== null) abort(change);
    // The terminal has refused to stop: the old core withdraws its mark.
    const asked = Object.values(ledger['commands'] ?? {}).find(
      (row) => row['name'] === 'Abort' && row['target_id'] === id && row['state'] === 'sent',
    );
    if (before?.['abort_requested_at'] && after['abort_requested_at'] === null && isOpen(after) && asked)
      commit({ type: 'AbortRefused', id: String(asked['id']) }, seq, at);
    const event = eventOf(change);
    if (!event) return;
    commit(event, seq, at, {});
    const op = opOf(id);
    const what = `${event.type}${event.type === 'Report' ? ` ${event.outcome}` : ''} of ${after['name']}`;
    const both = (state: unknown, by: unknown, number: unknown, receipt: unknown) =>
      [state === 'unknown' ? 'sent' : state, by, number, receipt].join(' ');
    const old = both(after['state'], after['settled_by'], after['operation_id'], after['receipt_id']);
    const neu = both(op?.state, op?.settledBy, op?.operationId, op?.receiptId);
    if (old === neu) return equal(what);
    differ(what, id, old, neu);
    // The new core goes on with the end that the old one saw, so that what follows can be compared.
    if (op && !isOpen(after) && (op.state === 'sent' || op.state === 'unknown')) {
      const { journalId } = op;
      commit({ type: 'Report', id, outcome: after['state'] as Ending, source: 'recall', journalId: journalId ?? undefined }, seq, at);
      if (opOf(id)?.state === after['state']) strayed.delete(id);
    }
  }

  function abort({ seq, at, id, after }: Change): void {
    const call = calls.findLast(
      (one) =>
        during(seq)(one) &&
        one.event.type === 'CancelTransaction' &&
        one.event.deviceId === after['device_id'] &&
        one.event.documentNr === after['document_nr'] &&
        !begins.has(one),
    );
    if (!call) return skip('a request to stop of no call that is known');
    const newId = `abort ${seq}`;
    begins.set(call, newId);
    commit({ ...call.event, newId, hasWaited: true } as Event, seq, at, call.presence[0]);
    if (opOf(newId)?.targetId === id) equal('begin of Abort');
    else differ('begin of Abort', newId, `stops ${id}`, 'nothing');
  }

  function invoice({ seq, at, id: oid, before, after }: Change): void {
    const by = calls.find(
      (call) => during(seq)(call) && 'documentNr' in call.event && call.event.type === 'CancelTransaction' && call.event.documentNr === oid,
    );
    const person = calls.find((call) => during(seq)(call) && call.event.type === 'CancelInvoice' && call.event.oid === oid);
    const owner = { merchantId, oid };
    if (!before)
      commit(
        {
          ...{
            type: 'Create',
            newId: oid,
            merchantId,
            amountBani: Number(after['amount_bani']),
            validTo: after['valid_to'] as number | null,
          },
          ...{ callbackUri: after['callback_uri'] as string | null, receipt: '', qrSecretId: Number(after['qr_secret_id']) },
          ...{ pointOfSalesCode: null, preferredDeviceId: null },
        },
        seq,
        at,
      );
    // Who asked is not recorded; the old core has shown it to that caller.
    else if (after['state'] === 1) commit({ type: 'Get', ...owner, hasKey: true }, seq, at);
    else if (after['state'] === 2)
      commit(
        { type: 'Payd', ...owner, receiptId: String(after['receipt_id']), deviceId: String(after['paid_device_id']), hasKey: true },
        seq,
        at,
        calls[0]?.presence[0],
      );
    else if (after['state'] === 3) commit({ type: 'Expire', oid }, seq, at);
    else if (person) commit(person.event, seq, at);
    else if (by && !begins.has(by)) commit({ ...by.event, newId: `withdrawal ${seq}`, hasWaited: true } as Event, seq, at, by.presence[0]);
    // Otherwise it follows from the end of a payment, whose change comes next.
  }

  const inShort = ({ code, fields }: { code: string; fields: object }, hasRepeated: boolean): string => {
    const { OID, State, Repeated } = fields as Record<string, unknown>;
    return [code, OID, State, ...(hasRepeated && Repeated ? ['Repeated'] : [])].join(' ');
  };

  /** Other operations that the answer names. */
  const alsoIn = (answer: Answer | undefined): string[] => (answer?.fields.AlsoUnderThisNumber ?? []).map(({ OID }) => `also ${OID}`);

  /** What the person saw of a dispute is what was stored then. */
  const asSeen = (event: Event, from: Ledger): Event =>
    event.type === 'Decide' && 'contradiction' in event ? { ...event, contradiction: opOf(event.id, from)?.contradiction ?? null } : event;

  function called(call: Called): void {
    const { event, answer, from } = call;
    // A transaction that was rolled back had taken numbers.
    const to = Math.max(from, call.to ?? from);
    const what = `answer of ${kindOf(event)}`;
    if (answer?.code === 'Timeout_or_no_response' && answer.fields['State'] === undefined)
      return skip('the gateway could not read the row of its operation');
    if (!answer) return skip('a call without an answer: its gateway or the database failed');
    if (unavailable.has(answer.code)) return skip('the gateway was not available, or the request was invalid');
    const oid = String(answer.fields['OID'] ?? '');
    const id = begins.get(call);
    if (strayed.has(oid) || ('id' in event && strayed.has(event.id)) || (id !== undefined && strayed.has(id)))
      return skip('follows an earlier difference');
    // A refusal to stop leaves no row if another request to stop came meanwhile: only this answer shows it.
    const isLeftToRun = answer.code === 'The_status_cannot_be_applied' && answer.fields['State'] === 'Open';
    if (id !== undefined && isLeftToRun && opOf(id)?.kind === 'Abort' && opOf(id)?.state === 'sent')
      commit({ type: 'AbortRefused', id }, to, call.at);
    const isDeviceCall = 'newId' in event;
    const seen = moments.filter(({ seq }, at) => seq <= to && (moments[at + 1]?.seq ?? to) >= from).reverse();
    const news: string[] = [];
    const old = isDeviceCall ? inShort(answer, id === undefined) : answer.code;
    for (const moment of seen)
      for (const presence of call.presence.toReversed()) {
        const surroundings = around(call.at, presence);
        const ask = (asked: Event) => plan(load(moment.ledger, asked, surroundings), asked);
        const asked: Event =
          id !== undefined
            ? { type: 'Outcome', id }
            : isDeviceCall
              ? ({ ...event, newId: 'new', hasWaited: true } as Event)
              : asSeen(event, moment.ledger);
        const planned = ask(asked);
        let said = planned.answer;
        const waits = planned.effects.find(({ type }) => type === 'wait');
        const isBegun = id === undefined && planned.unit?.inserts.some(({ table }) => table === 'commands');
        if (waits && said && 'id' in waits) {
          const end = plan(load(ledger, { type: 'Outcome', id: waits.id }, surroundings), { type: 'Outcome', id: waits.id }).answer;
          if (end && answer.code !== 'Timeout_or_no_response')
            said = { ...end, fields: { ...end.fields, ...(said.fields.Repeated ? { Repeated: true } : {}) } };
        }
        const neu = isBegun ? 'begins' : said ? (isDeviceCall ? inShort(said, id === undefined) : said.code) : 'nothing';
        if (neu === old) return equal(what);
        news.push([neu, ...alsoIn(said)].join(' '));
      }
    differ(what, oid || `call ${from}`, old, news[0]);
  }

  const ends = calls.filter(({ to }) => to !== undefined).sort((one, other) => Number(one.to) - Number(other.to));
  let next = 0;
  const endUntil = (seq: number) => {
    for (let call = ends[next]; call && Number(call.to) < seq; call = ends[next]) {
      next += 1;
      called(call);
    }
  };
  for (const change of changes) {
    endUntil(change.seq);
    if (change.what === 'invoice') invoice(change);
    else if (change.what === 'command') {
      if (change.before) changed(change);
      else begun(change);
    } else if (change.what === 'lost') {
      const call = calls.find(
        (one) => during(change.seq)(one) && one.event.type === 'HardwareLost' && one.event.deviceId === change.after['device_id'],
      );
      if (call) commit(call.event, change.seq, change.at);
    }
  }
  endUntil(Number.POSITIVE_INFINITY);
  atTheEnd();
  return compared;

  function atTheEnd(): void {
    const last = new Map(changes.filter(({ what }) => what !== 'lost' && what !== 'confirmed').map((change) => [change.id, change]));
    for (const [id, { what, after }] of last) {
      if (strayed.has(id)) skip('follows an earlier difference');
      else if (what === 'invoice') {
        const states = ledger['invoices']?.[id]?.['state'];
        if (states === after['state']) equal('invoice at the end');
        else differ('invoice at the end', id, after['state'], states);
      } else {
        const op = opOf(id);
        const document = after['document_state'];
        const old = [after['state'], document].join(' ');
        const neu = [op?.state, op?.document].join(' ');
        if (old === neu) equal('operation at the end');
        else differ('operation at the end', id, old, neu);
      }
    }
  }
}
