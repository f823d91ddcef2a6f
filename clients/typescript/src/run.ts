// A call from its first send to its outcome, by the rules of clients/README.md. Always holds: an operation that may have begun is asked for
// by Device/Operation/Status, never by sending it again; whatever is sent again has the same key and the same bytes.
import type { Heard, HttpRequest } from './transport.ts';
import type { AnyReport } from './types.ts';

/**
 * `command`: a device does something, and Device/Operation/Status knows about it. `safe`: changes something and may be repeated as it is.
 * `read`: changes nothing.
 */
export type CallKind = 'command' | 'safe' | 'read';

export interface World {
  send(request: HttpRequest): Promise<Heard>;
  /** Milliseconds that never jump. */
  nowMs(): number;
  sleep(ms: number): Promise<void>;
  /** From 0 to 1. */
  random(): number;
  startPatienceMs: number;
  outcomePatienceMs: number;
}

export interface Call {
  kind: CallKind;
  request: HttpRequest;
  key: string | undefined;
  /** An earlier call has sent it under this key, and what became of that is not known. */
  wasSentBefore: boolean;
  /** CancelTransaction, whose key may stand for the payment that it stops. */
  maySharePayment: boolean;
  /** Pay: errorCode 22 with State Done or Closed means that the sale is paid, with Open that it may be paid yet. */
  isPayment: boolean;
  /** The read-only call that asks by OID or by the Idempotency-Key. */
  askBy(name: { OID: string } | { IdempotencyKey: string }): HttpRequest;
}

export interface Ending {
  outcome: 'done' | 'refused' | 'notDone' | 'unclear';
  errorCode: number | undefined;
  errorMessage: string;
  key: string | undefined;
  OID: string | undefined;
  report: AnyReport | undefined;
  /** The answer as it came. */
  fields: Record<string, unknown>;
}

type Answer = Extract<Heard, { kind: 'answer' }>;
type Step = 'end' | 'again' | 'ask';

const maxSends = 100;

/** What follows on what came; `wasUnclear`: a send before may still be on its way. Pure. */
export function stepAfter({ kind, isPayment }: Pick<Call, 'kind' | 'isPayment'>, heard: Heard, wasUnclear: boolean): Step {
  if (heard.kind === 'notSent') return 'again';
  if (isFateUnknown(kind, heard)) {
    if (heard.kind === 'foreign' && heard.status !== 429 && heard.status < 500) return 'end';
    return kind === 'command' ? 'ask' : 'again';
  }
  if (heard.kind !== 'answer') return 'again';
  const { errorCode, OID, State } = heard.body;
  switch (errorCode) {
    case 3:
      return kind === 'command' ? 'ask' : 'end';
    case 41:
      return kind === 'command' && OID !== undefined ? 'ask' : 'again';
    case 1:
    case 2:
      return 'again';
    case 31:
      // Beside a dispute nothing runs until an operator has resolved it: that takes longer than anybody waits.
      return kind === 'read' || State === 'Disputed' ? 'end' : 'again';
    case 22:
      // On another device: the sale may be paid there yet.
      return isPayment && State === 'Open' ? 'ask' : 'end';
    case 30:
      return wasUnclear ? 'again' : 'end';
    default:
      return 'end';
  }
}

/** Whether the request may have been carried out although nobody said so. */
function isFateUnknown(kind: CallKind, heard: Heard): boolean {
  if (kind === 'read' || heard.kind === 'notSent') return false;
  if (heard.kind !== 'answer') return true;
  if (heard.status === 503) return false;
  const { errorCode } = heard.body;
  return errorCode === 1 || (kind === 'safe' && errorCode === 2);
}

export async function run(world: World, call: Call): Promise<Ending> {
  const mayStartUntilMs = world.nowMs() + world.startPatienceMs;
  const pause = createPauses(world);
  let isUnclear = call.wasSentBefore;
  let heard = await world.send(call.request);
  for (let sends = 1; sends < maxSends; sends += 1) {
    // What is found under the key may be this copy; one before it may still be on its way.
    const wasUnclear = isUnclear;
    isUnclear ||= isFateUnknown(call.kind, heard);
    const step = stepAfter(call, heard, isUnclear);
    if (step === 'end') break;
    if (step === 'ask') {
      const oid = heard.kind === 'answer' ? heard.body.OID : undefined;
      const found = await ask(world, call, oid);
      if (found.kind === 'settled') {
        const isShared = call.maySharePayment && found.answer.body.Operation === 'Pay';
        if (!isShared && found.answer.body.errorCode !== 31) return ending(call, found.answer, !wasUnclear);
        heard = found.answer;
        if (!isShared && world.nowMs() >= mayStartUntilMs) return ending(call, heard, !wasUnclear);
      } else if (found.kind === 'nobodyKnows' || world.nowMs() >= mayStartUntilMs) {
        return ending(call, found.heard ?? heard, false, oid);
      }
    } else if (!(await pause(heard, mayStartUntilMs))) break;
    heard = await world.send(call.request);
  }
  return ending(call, heard, !isUnclear);
}

type Found =
  | { kind: 'settled'; answer: Answer }
  /** Nothing was begun under the key. */
  | { kind: 'nothingBegun'; heard: Heard }
  | { kind: 'nobodyKnows'; heard: Heard | undefined };

/** Asks how the operation ended, until somebody knows or patience is over. Starts nothing, however often. */
async function ask(world: World, call: Call, oid: string | undefined): Promise<Found> {
  const { key } = call;
  if (oid === undefined && key === undefined) return { kind: 'nobodyKnows', heard: undefined };
  const question = call.askBy(oid === undefined ? { IdempotencyKey: key ?? '' } : { OID: oid });
  const pause = createPauses(world);
  const askUntilMs = world.nowMs() + world.outcomePatienceMs;
  let heard: Heard | undefined;
  for (;;) {
    if (!(await pause(heard, askUntilMs))) return { kind: 'nobodyKnows', heard };
    heard = await world.send(question);
    if (heard.kind !== 'answer') continue;
    switch (heard.body.errorCode) {
      case 0:
      case 50:
      case 30:
      case 31:
        return { kind: 'settled', answer: heard };
      case 20:
        return oid === undefined ? { kind: 'nothingBegun', heard } : { kind: 'nobodyKnows', heard };
      // It was voided since: nothing is charged any more.
      case 22:
        return heard.body['State'] === 'Voided' ? { kind: 'settled', answer: heard } : { kind: 'nobodyKnows', heard };
      case 3:
        // An operator has to resolve it: that takes longer than anybody waits.
        if (heard.body['State'] === 'Disputed') return { kind: 'nobodyKnows', heard };
        break;
      case 1:
      case 2:
      case 41:
        break;
      default:
        return { kind: 'nobodyKnows', heard };
    }
  }
}

/** Waits, longer each time; false, without waiting, when that would go beyond the moment. */
function createPauses(world: World): (after: Heard | undefined, untilMs: number) => Promise<boolean> {
  let count = 0;
  return async (after, untilMs) => {
    const growingMs = Math.min(10_000, 500 * 2 ** count) * (0.5 + 0.5 * world.random());
    count += 1;
    const waitMs = growingMs + (after?.kind === 'answer' ? after.retryAfterMs : 0);
    if (world.nowMs() + waitMs > untilMs) return false;
    await world.sleep(waitMs);
    return true;
  };
}

const advice =
  'It may have been done, or may be done yet. Ask operationStatus by this key or OID; the same call under the same key, with sentBefore, does nothing twice.';

/** `isSure`: no copy of the request can still be on its way. `knownOid`: told before by another answer. */
function ending(call: Call, heard: Heard, isSure: boolean, knownOid?: string): Ending {
  if (heard.kind !== 'answer') {
    const isHarmless = call.kind === 'read' || (heard.kind === 'notSent' && isSure);
    const errorMessage = isHarmless ? `No answer: ${heard.why}.` : `No answer: ${heard.why}. ${advice}`;
    const outcome = isHarmless ? 'notDone' : 'unclear';
    return { outcome, errorCode: undefined, errorMessage, key: call.key, OID: knownOid, report: undefined, fields: {} };
  }
  const { errorCode, errorMessage, OID } = heard.body;
  const outcome = outcomeOf(call, heard.body, isSure);
  return {
    outcome,
    errorCode,
    errorMessage: outcome === 'unclear' ? `${errorMessage} ${advice}` : errorMessage,
    key: call.key,
    OID: OID ?? knownOid,
    report: parseReport(heard.body.report),
    fields: heard.body,
  };
}

/** By `State` where the code alone does not tell: 22 says that the request cannot be applied, State what the operation is [D140]. */
function outcomeOf({ kind, isPayment }: Call, { errorCode, State }: Answer['body'], isSure: boolean): Ending['outcome'] {
  if (errorCode === 0 || (isPayment && errorCode === 22 && (State === 'Done' || State === 'Closed'))) return 'done';
  if (errorCode === 50) return 'refused';
  if (State === 'Disputed' || (isPayment && errorCode === 22 && State === 'Open')) return 'unclear';
  if (kind === 'read' || (errorCode === 22 && State === 'Voided')) return 'notDone';
  return isSure && errorCode !== 3 ? 'notDone' : 'unclear';
}

export function parseReport(text: unknown): AnyReport | undefined {
  if (typeof text !== 'string') return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as AnyReport) : undefined;
  } catch {
    return undefined;
  }
}
