// Sending one command to a merchant's register: what the four endpoints have in common.
import { requireMerchantDevice } from '../access/merchant-device.ts';
import { checkTemplate } from '../callbacks/template.ts';
import type { Database } from '../database/database.ts';
import { invalidRequest } from '../kernel/error-codes.ts';
import type { Random } from '../kernel/random.ts';
import type { CommandRequest } from '../ledger/first-commit.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { answerOf, type DeviceAnswer } from '../ledger/rules.ts';

export interface FiscalDeps {
  database: Database;
  ledger: Ledger;
  random: Random;
  callbacks: { wake(): void };
}

export interface RegisterCall {
  merchantId: string;
  deviceId: string;
  callbackUri?: string | undefined;
  idempotency?: { key: string; requestHash: string } | undefined;
}

type Specifics = Omit<CommandRequest, 'merchantId' | 'deviceId' | 'journalId' | 'first' | 'callbackUri' | 'idempotency'>;

export async function runOnRegister(deps: FiscalDeps, call: RegisterCall, specifics: Specifics): Promise<DeviceAnswer> {
  const callbackUri = call.callbackUri || undefined;
  if (callbackUri !== undefined) checkTemplate(callbackUri);
  const device = await requireMerchantDevice(deps.database.queries, call.merchantId, call.deviceId);
  if (device.kind !== 'register') throw invalidRequest('DeviceID names a card terminal; this call is for fiscal registers.');
  const command = await deps.ledger.run({
    ...specifics,
    merchantId: call.merchantId,
    deviceId: device.id,
    journalId: device.journalId,
    first: 'queue',
    callbackUri,
    idempotency: call.idempotency,
  });
  return answerOf(command);
}
