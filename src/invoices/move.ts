// One move of one invoice: the guarded update, the line in its history and the callback, in one transaction [D26].
// Either all three are committed or none; after the commit the callbacks' worker is woken.
import { enqueueCallback, type OutboxDeps } from '../callbacks/outbox.ts';
import { expandTemplate } from '../callbacks/template.ts';
import type { Database, Queries } from '../database/database.ts';
import type { Logger } from '../kernel/logger.ts';
import type { Random } from '../kernel/random.ts';
import type { QrSecrets } from './qr-secrets.ts';
import { type Facts, isOverdue, judge, noSuchInvoice, type State, stateNames, type Transition, type Trigger } from './rules.ts';
import { insertEvents, type MovedInvoice, moveInvoice, type Payment } from './store.ts';

export interface InvoiceDeps {
  database: Database;
  /** Told after each commit that wrote a callback. */
  callbacks: { wake(hosts: readonly string[]): void };
  random: Random;
  logger: Logger;
  traceparent?: OutboxDeps['traceparent'];
  qrSecrets: QrSecrets;
  /** How long a scanned invoice outlives its limit [D22]. */
  graceMs: number;
}

/** Who asks about an invoice: a key or a device of a merchant, or somebody who merely holds the QR [D10]. */
export interface Asker {
  merchantId: string | undefined;
  /** For the invoice's history: `key <id>`, `device <id>`, `anybody`. */
  name: string;
}

/** A state only moves forward, and there are three steps at most: whoever loses more races than this has met a bug. */
const maxLostRaces = 8;

export interface WrittenMove {
  invoice: MovedInvoice;
  /** Where its callback goes, if it has one: for waking the callbacks after the commit. */
  callbackHost: string | undefined;
}

/** Within the caller's transaction. Undefined if the guard did not hold: then nothing was written. */
export async function writeMove(
  deps: InvoiceDeps,
  queries: Queries,
  oid: string,
  transition: Transition,
  detail: object,
  payment?: Payment,
): Promise<WrittenMove | undefined> {
  const moved = await moveInvoice(queries, oid, transition, deps.graceMs, payment);
  if (!moved) return undefined;
  await insertEvents(queries, [oid], stateNames[transition.to], { ...detail, ...payment });
  return { invoice: moved, callbackHost: await writeCallback(deps, queries, moved, transition.to) };
}

/**
 * The receipt id and the device are told only with a payment; before it they are empty [service specification]. Returns the host that it goes
 * to, if there is one.
 */
export async function writeCallback(deps: InvoiceDeps, queries: Queries, moved: MovedInvoice, state: State): Promise<string | undefined> {
  if (moved.callbackUri === null) return undefined;
  const url = expandTemplate(moved.callbackUri, {
    OID: moved.oid,
    State: stateNames[state],
    ReceiptID: moved.receiptId,
    DeviceID: moved.paidDeviceId,
  });
  return await enqueueCallback(queries, deps, {
    merchantId: moved.merchantId,
    subjectKind: 'invoice',
    subjectId: moved.oid,
    sequence: moved.callbackSequence,
    url,
  });
}

/** The same in a transaction of its own. False if somebody else was quicker. */
export async function move(deps: InvoiceDeps, oid: string, transition: Transition, detail: object, payment?: Payment): Promise<boolean> {
  const moved = await deps.database.transaction((queries) => writeMove(deps, queries, oid, transition, detail, payment));
  if (moved?.callbackHost !== undefined) deps.callbacks.wake([moved.callbackHost]);
  return moved !== undefined;
}

/**
 * Reads the invoice until `step` comes to an end with it; an overdue one is made Expired first [D23].
 * `step` returns undefined when its own move lost a race: then the invoice is read again.
 */
export async function withCurrent<Found extends Facts & { oid: string }, Result>(
  deps: InvoiceDeps,
  find: () => Promise<Found | undefined>,
  step: (found: Found) => Promise<Result | undefined>,
): Promise<Result> {
  for (let lost = 0; lost < maxLostRaces; lost += 1) {
    const found = await find();
    if (!found) throw noSuchInvoice();
    if (isOverdue(found)) {
      await move(deps, found.oid, transitionOf(found, 'expire'), {});
      continue;
    }
    const result = await step(found);
    if (result !== undefined) return result;
  }
  throw new Error('An invoice kept changing while it was read.');
}

function transitionOf(facts: Facts, trigger: Trigger): Transition {
  const verdict = judge(facts, trigger);
  if (verdict.kind !== 'move') throw new Error(`No move by ${trigger} from ${stateNames[facts.state]}.`);
  return verdict.transition;
}
