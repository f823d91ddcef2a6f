// What all calls of Fiscal Mode need, and what each of them says about who asks, for which register, and where its end is reported to.
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
  /** What registers say of themselves. */
  link: { presence: Pick<PresenceBook, 'of'> };
}

export interface RegisterCall extends DeviceCall {
  callbackUri?: string | undefined;
}

/** Where the completion notice goes; 40 when the template is none. */
export function callbackOf({ callbackUri }: RegisterCall): string | undefined {
  if (callbackUri === undefined) return undefined;
  checkTemplate(callbackUri);
  return callbackUri;
}
