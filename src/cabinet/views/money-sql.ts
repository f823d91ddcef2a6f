// Every condition about money in the SQL of the cabinet: what an operation, an invoice or an orphan means now. Lists, figures and Attention
// select by these and decide nothing themselves. The old core computes them whenever it is asked (old-money-sql.ts); the new one has stored
// them in the commit that changed them (stored-money-sql.ts) [D300]. Which core runs is said by the wiring; with the old core, this goes.
import type { MoneySql } from './money-conditions.ts';
import { oldMoneySql } from './old-money-sql.ts';
import { storedMoneySql } from './stored-money-sql.ts';

const sources = { old: oldMoneySql, new: storedMoneySql };
let chosen: MoneySql = oldMoneySql;

/** Once, before anything is read: two cores never write one database. */
export function readMoneyOf(core: 'old' | 'new'): void {
  chosen = sources[core];
}

export const moneySql = (): MoneySql => chosen;
