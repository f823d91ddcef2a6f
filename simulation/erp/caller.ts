// One call of an ERP, without HTTP: it reaches a gateway or none, may lose it, may lose the answer, and may disconnect, most often from a
// frozen gateway. Each answer is recorded by call, so that the books can be compared with every single answer.

import type { Recipient } from '../../src/http/recipient.ts';
import { errorCodes, GatewayError } from '../../src/kernel/error-codes.ts';
import type { Random } from '../../src/kernel/random.ts';
import type { JsonObject } from '../../src/link/protocol.ts';
import type { Place } from '../fleet.ts';
import type { GatewayLife } from '../gateway-life.ts';
import type { Shop } from '../shop.ts';

export interface Answer {
  /** undefined: no answer. */
  code: number | undefined;
  report: JsonObject;
  oid: string | undefined;
  isRepeated: boolean;
  /** The result of a call outside the ledger. */
  result: unknown;
  /** The gateway that was called. */
  gateway?: number;
}

/** The caller, as a gateway sees it. */
export interface Via {
  recipient: Recipient;
  origin: { caller: string; request: string };
}

export type Call = (life: GatewayLife, via: Via) => Promise<unknown>;

/** The till's request, as far as a command stores it. The books compare the commands with this, not with other rows. */
export interface Asked {
  /** Absent if any of several devices may be used. */
  deviceId?: string | undefined;
  callbackUri?: string | undefined;
  amountBani?: number | undefined;
  documentNr?: string | undefined;
  receiptUid?: string | undefined;
}

/** The result of a call, for the books. */
export interface CallRecord {
  id: string;
  name: string;
  asked: Asked | undefined;
  /** When it was sent. */
  atMs: number;
  code: number | undefined;
  oid: string | undefined;
}

export interface Asking {
  asked?: Asked | undefined;
  /** The gateway that did not answer before; mostly another one is called, as a proxy does. */
  silent?: number | undefined;
  atMostMs?: number | undefined;
}

export interface Caller {
  ask(name: string, call: Call, how?: Asking): Promise<Answer>;
  readonly calls: ReadonlyMap<string, CallRecord>;
  readonly byCode: Record<string, number>;
  /** Callers that disconnected from a frozen gateway, and calls that went to another one after no answer. */
  readonly turnedAway: { hungUpOnStill: number; askedElsewhere: number };
}

const nothing: Answer = { code: undefined, report: {}, oid: undefined, isRepeated: false, result: undefined };
const patienceMs = 330_000;
/** How often a proxy calls another gateway when one did not answer. */
const elsewhereRate = 0.7;
/** How often a caller disconnects from a frozen gateway, as a proxy does whose probes are not answered. */
const hangsUpOnStillRate = 0.5;

export function createCaller(shop: Shop, random: Random): Caller {
  const { clock, plan, fleet } = shop;
  const calls = new Map<string, CallRecord>();
  const byCode: Record<string, number> = {};
  const turnedAway = { hungUpOnStill: 0, askedElsewhere: 0 };

  const between = (fromMs: number, toMs: number) => Math.floor(fromMs + random.fraction() * (toMs - fromMs));

  const pickFrom = (places: readonly Place[]) => places[Math.floor(random.fraction() * places.length)] as Place;

  function choosePlace(silent: number | undefined): Place {
    const others = fleet.places.filter(({ index }) => index !== silent);
    const isElsewhere = silent !== undefined && others.length > 0 && random.fraction() < elsewhereRate;
    if (isElsewhere) turnedAway.askedElsewhere += 1;
    return pickFrom(isElsewhere ? others : fleet.places);
  }

  function ask(name: string, call: Call, { asked, silent, atMostMs = patienceMs }: Asking = {}): Promise<Answer> {
    const record: CallRecord = { id: `call ${calls.size + 1}`, name, asked, atMs: clock.now(), code: undefined, oid: undefined };
    calls.set(record.id, record);
    const place = choosePlace(silent);
    const patientMs = Math.min(patienceMs, atMostMs);
    const waitsMs = !shop.state.isCalm && random.fraction() < plan.impatientRate ? Math.min(between(500, 60_000), patientMs) : patientMs;
    const isLost = !shop.state.isCalm && random.fraction() < plan.lostResponseRate;
    const looksAfterMs = random.fraction() < hangsUpOnStillRate ? between(1_000, 15_000) : undefined;
    return new Promise((resolve) => {
      const answerTill = (answer: Answer) => {
        record.code = answer.code;
        record.oid = answer.oid;
        byCode[String(answer.code)] = (byCode[String(answer.code)] ?? 0) + 1;
        shop.trace(`erp ${name} (${record.id} to gateway ${place.index}): ${answer.code ?? 'nothing'} ${answer.oid ?? ''}`);
        resolve({ ...answer, gateway: place.index });
      };
      const { life } = place;
      if (!life || place.isStopping) return void clock.after(100, () => answerTill(nothing));
      converse(
        place,
        life,
        { waitsMs, looksAfterMs, isLost },
        (recipient) => call(life, { recipient, origin: { caller: 'erp', request: record.id } }),
        answerTill,
      );
    });
  }

  function converse(
    place: Place,
    life: GatewayLife,
    { waitsMs, looksAfterMs, isLost }: { waitsMs: number; looksAfterMs: number | undefined; isLost: boolean },
    call: (recipient: Recipient) => Promise<unknown>,
    answerTill: (answer: Answer) => void,
  ): void {
    const { recipient, hangUp, leave, finish } = createRecipient();
    let isOver = false;
    place.calls += 1;
    const end = (answer: Answer) => {
      if (isOver) return;
      isOver = true;
      place.onDeath.delete(onDeath);
      for (const cancel of cancels) cancel();
      answerTill(answer);
    };
    const onDeath = () => end(nothing);
    place.onDeath.add(onDeath);
    // A frozen gateway finds the request in its socket when it resumes, and reads it before any answer of the database.
    const giveUp = () => {
      hangUp();
      place.standstill.whenAwake(leave);
      end(nothing);
    };
    const cancels = [clock.after(waitsMs, giveUp)];
    const giveUpOnStill = () => {
      if (!place.standstill.isOn) return;
      turnedAway.hungUpOnStill += 1;
      giveUp();
    };
    if (looksAfterMs !== undefined) cancels.push(clock.after(looksAfterMs, giveUpOnStill));
    const answered = (answer: Answer) => {
      if (place.life === life) place.calls -= 1;
      if (isOver || isLost) {
        leave();
        return end(nothing);
      }
      finish();
      end(answer);
    };
    place.standstill.whenAwake(() => {
      if (place.life !== life) return;
      call(recipient).then(
        (result) => answered(read(0, result)),
        (error: unknown) => answered(readError(shop, error)),
      );
    });
  }

  return { ask, calls, byCode, turnedAway };
}

function readError(shop: Pick<Shop, 'violated'>, error: unknown): Answer {
  if (!(error instanceof GatewayError)) {
    shop.violated(`the gateway failed: ${error instanceof Error ? error.stack : String(error)}`);
    return { ...nothing, code: 1 };
  }
  return read(errorCodes[error.errorName].code, { ...error.fields, report: error.report });
}

function read(code: number, result: unknown): Answer {
  const { report, OID, Repeated } = (result ?? {}) as { report?: unknown; OID?: string; Repeated?: boolean };
  return {
    code,
    report: typeof report === 'string' ? (JSON.parse(report) as JsonObject) : {},
    oid: OID,
    isRepeated: Repeated === true,
    result,
  };
}

/** As http/recipient.ts sees a TCP connection. */
function createRecipient() {
  const received = Promise.withResolvers<boolean>();
  const listeners: (() => void)[] = [];
  let hasHungUp = false;
  let hasLeft = false;
  let isFinished = false;
  const recipient: Recipient = {
    hasLeft: () => hasHungUp || hasLeft,
    onLeft(listener) {
      if (hasLeft) listener();
      else listeners.push(listener);
    },
    received: received.promise,
  };
  return {
    recipient,
    hangUp() {
      hasHungUp = !isFinished;
    },
    finish() {
      isFinished = true;
      received.resolve(true);
    },
    leave() {
      if (hasLeft || isFinished) return;
      hasLeft = true;
      received.resolve(false);
      for (const listener of listeners) listener();
    },
  };
}
