// The case of an event without a query: what is mostly true, guarded by exactly these values. The device is free, name and key are unused, and
// the name is no invoice's OID. Undefined: this event loads.
import { sameNumber } from '../kernel/ids.ts';
import { cardElementsOf } from '../kernel/receipt.ts';
import { type Case, type Id, nameKey, type Presence } from './case.ts';
import type { CallEvent, Event, Of } from './event.ts';
import { freeDevice, unusedName } from './unit.ts';
import { type Ref, refKey, wanted } from './wanted.ts';

/** A case, and what was looked up for it, found or not. */
export interface Known {
  case: Case;
  looked: ReadonlySet<string>;
}

/** `presence`: of the call's device, which is the merchant's own. */
export function assume(event: Event, { now, presence }: { now: number; presence: Presence }): Known | undefined {
  const value = nameIn(event);
  if (value === undefined) return undefined;
  const { merchantId, deviceId } = event as CallEvent;
  const c: Case = {
    ...{ now, scanGraceMs: 0, isAssumed: true, ops: {}, keys: {}, invoices: {}, orphans: {} },
    devices: { [deviceId]: freeDevice(deviceId) },
    names: { [nameKey(merchantId, value)]: unusedName(merchantId, value) },
    presence: { [nameKey(merchantId, deviceId)]: presence },
    ...{ sales: new Set<Id>(), waitedFor: new Set<Id>(), roots: [] },
  };
  const looked = new Set<string>();
  const refs: Ref[] = wanted(event, c, looked);
  for (const ref of refs) looked.add(refKey(ref));
  return { case: c, looked };
}

/** The database decides whether a limit that is near has passed [D23]. */
const nearMs = 60_000;

/** Its OID was drawn, and its key is unused. */
export function assumeNew(event: Of<'Create'>, now: number): Known | undefined {
  if (event.validTo !== null && event.validTo <= now + nearMs) return undefined;
  const c: Case = {
    ...{ now, scanGraceMs: 0, isAssumed: true, ops: {}, devices: {}, names: {}, keys: {}, invoices: {}, orphans: {}, presence: {} },
    ...{ sales: new Set<Id>(), waitedFor: new Set<Id>(), roots: [] },
  };
  return { case: c, looked: new Set(wanted(event, c, new Set()).map(refKey)) };
}

/** The number of a Pay, or the Uid of a receipt whose payments name no other number. */
function nameIn(event: Event): string | undefined {
  if (event.type === 'Pay') return event.documentNr;
  if (event.type !== 'Print') return undefined;
  const { Uid: uid } = event.receipt;
  const isAlone = cardElementsOf(event.receipt).every(({ documentNr }) => documentNr === undefined);
  return typeof uid === 'string' && isAlone ? sameNumber(uid) : undefined;
}
