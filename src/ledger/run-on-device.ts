// One command on one of the merchant's devices: the order of every call of POS and Fiscal Mode [D60].
//
//   what was done ... Idempotency-Key, then documentNr or Receipt.Uid, then the content [D58]: found whatever has become of the device
//   the device ...... 30 unless it is the merchant's and enabled, 40 when it is of the wrong kind [D42]
//   the plan ........ what the slice knows about the operation: 20, 22, 40
//   the ledger ...... 31 unless the device is free, 30 unless it can be reached; then the command goes out
import { type MerchantDevice, requireMerchantDevice } from '../access/merchant-device.ts';
import type { Database } from '../database/database.ts';
import { invalidRequest } from '../kernel/error-codes.ts';
import { operationOf } from '../kernel/operations.ts';
import type { ChannelName } from '../link/channel.ts';
import type { DeviceKind } from '../link/protocol.ts';
import { answerOf, type DeviceAnswer } from './answers.ts';
import type { CommandCall, CommandPlan } from './calls/call.ts';
import type { DeviceCall } from './calls/device-call.ts';
import type { Ran } from './calls/run-or-join.ts';
import type { Ledger } from './ledger.ts';
import { followersOf } from './store.ts';

export interface DeviceWork extends Pick<CommandCall, 'findEarlier' | 'insertRejectsDuplicates'> {
  /** The call has neither documentNr nor Receipt.Uid, and doing it twice would matter: an equal one may be its repeat [D58]. */
  isKnownByContent: boolean;
  /** Made only for what is new. */
  plan(device: MerchantDevice): Promise<Plan> | Plan;
}

/** Without a time to answer of its own it has that of the catalogue. */
type Plan = Omit<CommandPlan, 'journalId' | 'preferredChannel' | 'answerWithinMs'> & Partial<Pick<CommandPlan, 'answerWithinMs'>>;

export interface DeviceDeps {
  database: Database;
  ledger: Pick<Ledger, 'run' | 'runAtOnce' | 'outcomeDelivery' | 'ownDevice'>;
}

const preferredChannels: Record<DeviceKind, ChannelName> = { terminal: 'mqtt', register: 'queue' };
const wrongKind: Record<DeviceKind, string> = {
  terminal: 'DeviceID names a fiscal register; this call is for card terminals.',
  register: 'DeviceID names a card terminal; this call is for fiscal registers.',
};

export async function runOnDevice(deps: DeviceDeps, kind: DeviceKind, call: DeviceCall, work: DeviceWork): Promise<DeviceAnswer> {
  return answer(deps, call, await deps.ledger.run(askedOf(call, work), planOf(deps, kind, call, work)));
}

/**
 * The short way alone, for a call whose insert finds out by itself whether anything stands in its way [D103]. Undefined: nothing was
 * written or sent, and the caller has to look.
 */
export async function runOnDeviceAtOnce(
  deps: DeviceDeps,
  kind: DeviceKind,
  call: DeviceCall,
  plan: DeviceWork['plan'],
): Promise<DeviceAnswer | undefined> {
  const work = { isKnownByContent: false, insertRejectsDuplicates: true, plan };
  const ran = await deps.ledger.runAtOnce(askedOf(call, work), planOf(deps, kind, call, work));
  return ran && (await answer(deps, call, ran));
}

/** Only these: the fields of the call itself (an amount, a documentNr) go into the command by the slice's plan alone. */
function askedOf(call: DeviceCall, { isKnownByContent, findEarlier, insertRejectsDuplicates }: DeviceWork): CommandCall {
  const { merchantId, deviceId, idempotency, recipient, origin } = call;
  const requestHash = isKnownByContent ? call.hashRequest?.() : undefined;
  return { merchantId, deviceId, idempotency, requestHash, recipient, origin, findEarlier, insertRejectsDuplicates };
}

function planOf(deps: DeviceDeps, kind: DeviceKind, { merchantId, deviceId }: DeviceCall, work: DeviceWork): () => Promise<CommandPlan> {
  return async () => {
    const device = ofKind(kind, await deps.ledger.ownDevice(merchantId, deviceId));
    const plan = await work.plan(device);
    const { answerWithinMs } = operationOf(plan.name);
    return { answerWithinMs, ...plan, journalId: device.journalId, preferredChannel: preferredChannels[kind] };
  };
}

async function answer({ database, ledger }: DeviceDeps, { recipient }: DeviceCall, ran: Ran): Promise<DeviceAnswer> {
  const { command, isEarlier, isRepeated } = ran;
  ledger.outcomeDelivery.answered(command, recipient);
  // Nothing refers yet to what this call itself has just done.
  const followers = isEarlier ? await followersOf(database.queries, command) : [];
  return answerOf(command, { followers, further: isRepeated ? { Repeated: true } : {} });
}

export async function requireDevice(
  { database }: Pick<DeviceDeps, 'database'>,
  kind: DeviceKind,
  call: DeviceCall,
): Promise<MerchantDevice> {
  return ofKind(kind, await requireMerchantDevice(database.queries, call.merchantId, call.deviceId));
}

function ofKind(kind: DeviceKind, device: MerchantDevice): MerchantDevice {
  if (device.kind !== kind) throw invalidRequest(wrongKind[kind]);
  return device;
}
