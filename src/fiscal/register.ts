// The dependencies of all calls of Fiscal Mode, and the fields that all calls have: caller, register, and the address of the notice.
import { checkTemplate } from '../callbacks/template.ts';
import type { Database } from '../database/database.ts';
import type { Logger } from '../kernel/logger.ts';
import type { Random } from '../kernel/random.ts';
import type { DeviceCall } from '../ledger/calls/device-call.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { PresenceBook } from '../link/presence.ts';

export interface FiscalDeps {
  database: Database;
  ledger: Ledger;
  random: Random;
  logger: Logger;
  callbacks: { wake(): void };
  /** For the features that registers announce. */
  link: { presence: Pick<PresenceBook, 'of'> };
}

export interface RegisterCall extends DeviceCall {
  callbackUri?: string | undefined;
}

/** The address template of the completion notice; 40 if it is invalid. */
export function callbackOf({ callbackUri }: RegisterCall): string | undefined {
  if (callbackUri === undefined) return undefined;
  checkTemplate(callbackUri);
  return callbackUri;
}
