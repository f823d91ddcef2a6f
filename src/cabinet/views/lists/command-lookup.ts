// Text search for commands. Each interpretation of the text reads one index, so that no search scans the ledger.
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import { type Bani, parseAmount } from '../../../kernel/money.ts';
import type { Scope } from '../scope.ts';
import {
  type MaskedCard,
  maskedCardIn,
  rrnEnd,
  shortestPrefix as shortestBeginning,
  startsWith,
  subjectsOf,
  subjectsOfCard,
  withoutLabel,
} from './search-terms.ts';
import type { Lookup } from './walk.ts';

/** For all merchants, the indexes that begin with a merchant or a device are queried for each of them. */
const merchantsOf = ({ merchantId }: Scope) =>
  merchantId === undefined ? sql`c.merchant_id in (select m.id from merchants m)` : sql`c.merchant_id = ${merchantId}`;
const devicesOf = ({ merchantId }: Scope) =>
  merchantId === undefined
    ? sql`b.device_id in (select d.id from devices d)`
    : sql`b.device_id in (select d.id from devices d where d.merchant_id = ${merchantId})`;

const shortestPrefix = 6;
/** At most so many commands per number: a short prefix may match very many. */
const maxTaken = 200;
/** A command settled this recently may not have its search terms yet: the newest are read by their ids. */
const recentMs = 60_000;
const maxRecent = 100;

/** The beginning of a UUID, as pages shorten it; in lower case. */
export function idPrefixOf(text: string): string | undefined {
  const lower = text.toLowerCase();
  return lower.length >= shortestPrefix && lower.length <= 36 && /^[0-9a-f]{6,8}(-[0-9a-f-]*)?$/.test(lower) ? lower : undefined;
}

/** Bounded on both sides, so that an index can be used; `g` follows every hexadecimal digit. The last condition is exact. */
export function beginsWith(column: RawBuilder<unknown>, prefix: string): RawBuilder<SqlBool> {
  return sql<SqlBool>`(${column} >= ${prefix} and ${column} < ${`${prefix}g`} and substr(${column}, 1, ${sql.lit(prefix.length)}) = ${prefix})`;
}

/** "150", "150.5", "150,50 MDL": an amount as printed. */
export function amountIn(text: string): Bani | undefined {
  const digits = text
    .replace(/\s*(mdl|lei|leu)\.?$/i, '')
    .replaceAll(/[\s']/g, '')
    .replace(',', '.');
  return parseAmount(digits);
}

/** A lookup may also find rows of other merchants: the list's sieve removes them. */
export function lookupsOf(scope: Scope, q: string): Lookup[] {
  const text = withoutLabel(q);
  const card = maskedCardIn(text);
  // A UUID is stored in lower case, a Receipt.Uid and other document numbers as received.
  const spellings = [...new Set([text, text.toLowerCase(), text.toUpperCase()])];
  const amount = amountIn(text);
  const prefix = idPrefixOf(text);
  const few = (where: RawBuilder<SqlBool>): Lookup => ({ where, isOrdered: false });
  const among = (ids: RawBuilder<unknown>) => few(sql<SqlBool>`c.id in ${ids}`);
  const begins = (column: string) => {
    const name = sql.ref(`c.${column}`);
    const ways = spellings.map((spelling) => startsWith(name, spelling));
    return among(
      sql`(select c.id from commands c where ${merchantsOf(scope)} and ${name} is not null and (${sql.join(ways, sql` or `)}) limit ${sql.lit(maxTaken)})`,
    );
  };
  const recent = sql`(select s.command_id from settlements s where s.settled_at > (select now_ms() - ${sql.lit(recentMs)})
    order by s.settled_at desc limit ${sql.lit(maxRecent)})`;
  const ofReport = [sql`c.rrn`, sql`c.receipt_id`].flatMap((name) =>
    spellings.map((spelling) => (text.length < shortestBeginning ? sql<SqlBool>`${name} = ${spelling}` : startsWith(name, spelling))),
  );
  const inReport = [...reportPatterns(q, card)].map((pattern) => sql<SqlBool>`c.report like ${pattern} escape '\\'`);
  const many = (where: RawBuilder<SqlBool>): Lookup => ({ where, isOrdered: true });
  return [
    few(sql<SqlBool>`${merchantsOf(scope)} and c.document_nr is not null and c.document_nr in (${sql.join(spellings)})`),
    few(sql<SqlBool>`${merchantsOf(scope)} and c.receipt_uid is not null and c.receipt_uid in (${sql.join(spellings)})`),
    among(
      sql`(select b.payment_id from bank_operations b where ${devicesOf(scope)} and b.operation_id = ${text} limit ${sql.lit(maxTaken)})`,
    ),
    ...(amount === undefined ? [] : [many(sql<SqlBool>`c.amount_bani is not null and c.amount_bani = cast(${amount} as bigint)`)]),
    few(sql<SqlBool>`c.id in ${recent} and (${sql.join([...ofReport, ...inReport], sql` or `)})`),
    ...(prefix === undefined ? [] : [few(beginsWith(sql`c.id`, prefix))]),
    ...subjectsOf(scope, 'command', q).map(among),
    ...(card === undefined ? [] : [few(cardCondition(scope, card))]),
    ...(text.length < shortestBeginning
      ? []
      : [
          begins('document_nr'),
          begins('receipt_uid'),
          among(
            sql`(select b.payment_id from bank_operations b where ${devicesOf(scope)} and ${startsWith(sql`b.operation_id`, text)} limit ${sql.lit(maxTaken)})`,
          ),
        ]),
  ];
}

/** The terms have the last four digits; those before the mask are in the report. */
function cardCondition(scope: Scope, card: MaskedCard): RawBuilder<SqlBool> {
  const hasEnd = sql<SqlBool>`c.id in ${subjectsOfCard(scope, 'command', card)}`;
  return card.begin === '' ? hasEnd : sql<SqlBool>`(${hasEnd} and c.report like ${cardPattern(card)})`;
}

const cardPattern = ({ begin, end }: MaskedCard) => `%"maskedCard":"${begin}%${end}"%`;

/** Numbers of a report that has no search terms yet. The end of a number is found if it has its usual length. */
function* reportPatterns(q: string, card: MaskedCard | undefined): Iterable<string> {
  const text = withoutLabel(q);
  const end = rrnEnd(q);
  if (end !== undefined) yield `%"rrn":"${'_'.repeat(8)}${end}"%`;
  if (card !== undefined) yield card.begin === '' ? `%"maskedCard":"${'_'.repeat(12)}${card.end}"%` : cardPattern(card);
  if (text.length < shortestBeginning) return;
  for (const spelling of new Set([text, text.toUpperCase()])) {
    for (const name of ['rrn', 'authCode', 'operationId']) yield `%"${name}":"${spelling.replaceAll(/[\\%_]/g, '\\$&')}%`;
  }
}
