// The dependencies of all calls of POS Mode.
import type { Database } from '../database/database.ts';
import type { Invoices } from '../invoices/invoices.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import type { Random } from '../kernel/random.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Link } from '../link/link.ts';

export interface CardsDeps {
  database: Database;
  ledger: Ledger;
  link: Link;
  clock: Clock;
  random: Random;
  logger: Logger;
  invoices: Pick<Invoices, 'cancelUnpaidInvoice' | 'endWithout' | 'wasPaidAt' | 'withdraw' | 'isChargeable' | 'holdForCharge' | 'lock'>;
  callbacks: { wake(): void };
}
