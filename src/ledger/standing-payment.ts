// The standing of a payment for the invoice whose OID is its documentNr [D142]. No other place decides whether an invoice has a payment.
//   in doubt ... open, or disputed: its device contradicts the settlement of the payment, or of a refund or void of it
//   done ....... approved, or resolved as executed, and neither voided nor refunded in full
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Queries } from '../database/database.ts';
import { keptStatement } from '../database/kept-statement.ts';
import { openOnly, paymentsOnly } from './command.ts';
import { standingConditions } from './standing-sql.ts';

export interface StandingPayment {
  standing: 'in doubt' | 'done';
  /** The terminals that were paid, or may have been: several if a dispute is open, or was resolved as a second charge. */
  deviceIds: readonly string[];
  /** Beside the one in doubt, another one is done. */
  isAnotherDone?: boolean;
}

const { keepsMoney, refunded, takenBackInDispute } = standingConditions('commands');
const standing = sql<StandingPayment['standing'] | null>`case
      when ${openOnly} or state = 'disputed' or (state = 'done' and ${takenBackInDispute}) then 'in doubt'
      when ${keepsMoney} and not ${refunded} then 'done'
    end`;

const standingUnder = keptStatement((queries, { merchantId, documentNr }: { merchantId: string; documentNr: string }) =>
  queries
    .selectFrom('commands')
    .select([standing.$castTo<StandingPayment['standing']>().as('standing'), 'device_id'])
    .where('merchant_id', '=', merchantId)
    .where('document_nr', '=', documentNr)
    .where(paymentsOnly)
    .where(standing, 'is not', null)
    // 'in doubt' before 'done'.
    .orderBy('standing', 'desc')
    .orderBy('device_id')
    .compile(),
);

export async function findStandingPayment(queries: Queries, merchantId: string, documentNr: string): Promise<StandingPayment | undefined> {
  const rows = await standingUnder(queries, { merchantId, documentNr });
  const [first] = rows;
  if (!first) return undefined;
  const isAnotherDone = first.standing === 'in doubt' && rows.some((row) => row.standing === 'done');
  return { standing: first.standing, deviceIds: rows.map((row) => row.device_id), ...(isAnotherDone ? { isAnotherDone } : {}) };
}

interface OnlyPayments {
  standing?: StandingPayment['standing'];
  /** Not at the device in this column. */
  elsewhereThan?: string;
}

/** The same as a condition; `merchant` and `number` are columns of the surrounding statement. */
export function hasStandingPayment(merchant: string, number: string, only: OnlyPayments = {}): RawBuilder<SqlBool> {
  const isMeant = only.standing === undefined ? sql`is not null` : sql`= ${sql.lit(only.standing)}`;
  const isElsewhere = only.elsewhereThan === undefined ? sql`` : sql`and "commands"."device_id" <> ${sql.ref(only.elsewhereThan)}`;
  return sql<SqlBool>`exists (
        select 1 from "commands"
        where "commands"."merchant_id" = ${sql.ref(merchant)} and "commands"."document_nr" = ${sql.ref(number)}
          and ${paymentsOnly} ${isElsewhere} and (${standing}) ${isMeant} limit 1 offset 0
      )`;
}
