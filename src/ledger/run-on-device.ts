// One command on one of the merchant's devices: the order of every call of POS and Fiscal Mode [D60].
//
//   earlier command ... by Idempotency-Key, then documentNr or Receipt.Uid, then content [D58]; whatever the state of the device
//   the device ........ 30 unless it is the merchant's and enabled, 40 if it is of the wrong kind [D42]
//   the plan .......... the slice's checks of the operation: 20, 22, 40
//   the ledger ........ 31 unless the device is free, 30 unless it is reachable; then the command is sent
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
  /** The call has neither documentNr nor Receipt.Uid, and a second execution would do harm: an equal call may be its repeat [D58]. */
  isKnownByContent: boolean;
  /** Called only if the call repeats nothing. */
  plan(device: MerchantDevice): Promise<Plan> | Plan;
}

/** `answerWithinMs` defaults to that of the catalogue. */
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
 * Only the short path, for a call whose insert rejects every repeat [D103]. Undefined: nothing was written or sent, and the caller takes
 * the long path to find out why.
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

/** Picks these fields only: an amount or a documentNr of the call reaches the command through the slice's plan alone. */
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
  // No operation refers yet to one that this call has just run.
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
