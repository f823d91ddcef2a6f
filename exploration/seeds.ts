// Seeds: the last states of the transcripts (test/money/*.txt), from which every event is tried, and every pair of events of two gateways. What
// is asked names the devices, numbers and keys of the transcript; its own calls come once more.
import { globSync, readFileSync } from 'node:fs';
import type { Op, Report } from '../src/money/case.ts';
import { callOf, reportOf } from './lines.ts';
import { numberOfCharge } from './reading.ts';
import { runTranscript } from './transcripts.ts';
import { type Asking, longAgo, newId, now, oid, opsOf, type State, type Truth, type World, withTimes } from './world.ts';

const folder = `${import.meta.dirname}/../test/money`;
export const seedNames: readonly string[] = globSync('*.txt', { cwd: folder }).sort();

/** Events after each seed, and after how many its pairs are compared. */
export const ofSeeds = { depth: 2, pairs: 0 };

/** Undefined: there is no such transcript. */
export function seedWorld(name: string): World | undefined {
  if (!seedNames.includes(name)) return undefined;
  const { states, lines } = runTranscript(readFileSync(`${folder}/${name}`, 'utf8'));
  const last = states.at(-1);
  return last && worldFrom(last, lines);
}

function worldFrom(last: State, lines: readonly string[]): World {
  const ops = opsOf(last);
  return {
    ...{ devices: Object.keys(last.live), numbers: numbersIn(last), maxOps: 99, ...ofSeeds, events },
    ...{ start: startFrom(last), calls: callsIn(lines) },
    reported: Object.fromEntries(ops.map((op) => [op.id, reportedBy(op)])),
    isUnnamed: ops.some((op) => op.requestHash !== null),
    hasNotices: ops.some((op) => op.callbackUri !== null),
  };
}

const events = [
  ...['call', 'Pay', 'CloseDoc', 'Void', 'Refund', 'Abort', 'Print', 'PrintPaid', 'CloseDay', 'Cash', 'Payd', 'Get', 'cancelInvoice'],
  ...['decision', 'resolve', 'review', 'closeByHand', 'lost', 'remove', 'CloseDocByPerson'],
  ...[
    'abortRefused',
    'accepted',
    'busy',
    'unclear',
    'wrongAmount',
    'bank',
    'lateMoney',
    'swap',
    'Deadline',
    'forget',
    'lateNote',
    'Expire',
  ],
];

/** The two newest, and the invoice; the calls of the transcript have the others. */
function numbersIn(last: State): string[] {
  const used = opsOf(last).flatMap((op) => numberOfCharge(op) ?? op.documentNr ?? op.receiptUid ?? []);
  const named = [...new Set(used)].filter((number) => number !== oid).slice(-2);
  return last.ledger['invoices']?.[oid] ? ['oid', ...named] : named;
}

/** Every call of the transcript once more; a status changes nothing, and an invoice is created under an OID of its own. */
function callsIn(lines: readonly string[]): Asking[] {
  return [...new Set(lines)].flatMap((label): Asking[] => {
    const event = callOf(label);
    if (!event || event.type === 'Status' || event.type === 'Create') return [];
    return [{ kind: 'call', label: `again: ${label}`, event: 'newId' in event ? { ...event, newId } : event }];
  });
}

/** What the device has in its journal: what it has reported, or would. */
const reportedBy = (op: Op): Report => (op.outcome === 'done' && op.report ? op.report : reportOf(op));

function startFrom(last: State): State {
  const ops = opsOf(last);
  const live = Object.fromEntries(Object.entries(last.live).map(([id, journal]) => [id, journal === undefined ? `${id}-a` : journal]));
  const ofOps = Object.fromEntries(ops.filter(({ kind }) => kind !== 'Abort').map((op) => [op.id, truthOf(op, last)]));
  const truth = { ...last.truth, ...ofOps };
  const informed = ops.filter(({ receivedAt }) => receivedAt !== null).map(({ id }) => id);
  let state: State = { ...last, live, truth, informed, waiting: [], pending: null, sent: undefined, count: ops.length, isSeed: true };
  for (const { id, answerBy } of ops) if (answerBy <= now && truth[id]) state = withTimes(state, id, { answerBy: longAgo });
  return state;
}

/** A transcript may let a device speak of what no line has let it do. */
function truthOf(op: Op, { truth, live }: State): Truth {
  const found = truth[op.id] ?? { hw: op.journalId ?? live[op.deviceId] ?? op.deviceId, did: 'sent' };
  if (found.did === 'executed' || found.did === 'running') return found;
  if (op.outcome === 'done' || op.contradiction?.startsWith('done')) return { ...found, did: 'executed' };
  const isByDevice = op.settledBy !== 'person' && op.settledBy !== null;
  if (isByDevice && op.state === 'refused') return { ...found, did: 'refused' };
  if (op.isConfirmed && op.state === 'refused') return { ...found, did: 'absent' };
  return op.state === 'never' || op.answerBy <= now ? { ...found, did: found.did === 'sent' ? 'absent' : found.did } : found;
}
