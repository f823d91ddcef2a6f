// Input of the book checks: the ledger's commands, the shop and its ERP.
import type { Database } from '../../src/database/database.ts';
import type { Command } from '../../src/ledger/command.ts';
import type { Erp } from '../erp/erp.ts';
import type { Shop } from '../shop.ts';

/** A command, with the ledger's own figures. */
export interface BookedCommand extends Command {
  cashBani: number;
  cardBani: number;
  /** The call that began it. */
  request: string | null;
}

export interface Books {
  shop: Shop;
  database: Database;
  erp: Erp;
  commands: readonly BookedCommand[];
}
