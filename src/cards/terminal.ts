// Sending one command to a merchant's terminal: what all six endpoints have in common.
import { type MerchantDevice, requireMerchantDevice } from '../access/merchant-device.ts';
import type { Database } from '../database/database.ts';
import type { Invoices } from '../invoices/invoices.ts';
import type { Clock } from '../kernel/clock.ts';
import { invalidRequest } from '../kernel/error-codes.ts';
import type { CommandRequest } from '../ledger/first-commit.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { answerOf, type DeviceAnswer } from '../ledger/rules.ts';
import type { Link } from '../link/link.ts';

export interface CardsDeps {
  database: Database;
  ledger: Ledger;
  link: Link;
  clock: Clock;
  invoices: Pick<Invoices, 'cancelUnpaidInvoice'>;
  callbacks: { wake(): void };
}

export interface TerminalCall {
  merchantId: string;
  deviceId: string;
  idempotency?: { key: string; requestHash: string } | undefined;
}

/** The Idempotency-Key is looked at before anything else that the body names [D13]. */
export async function requireTerminal(deps: CardsDeps, call: TerminalCall): Promise<MerchantDevice> {
  await deps.ledger.findByKey(call);
  const device = await requireMerchantDevice(deps.database.queries, call.merchantId, call.deviceId);
  if (device.kind !== 'terminal') throw invalidRequest('DeviceID names a fiscal register; this call is for card terminals.');
  return device;
}

type Specifics = Omit<CommandRequest, 'merchantId' | 'deviceId' | 'journalId' | 'first' | 'idempotency'>;

export async function runOnTerminal(
  deps: CardsDeps,
  call: TerminalCall,
  device: MerchantDevice,
  specifics: Specifics,
): Promise<DeviceAnswer> {
  const command = await deps.ledger.run({
    ...specifics,
    merchantId: call.merchantId,
    deviceId: device.id,
    journalId: device.journalId,
    first: 'mqtt',
    idempotency: call.idempotency,
  });
  return answerOf(command);
}
