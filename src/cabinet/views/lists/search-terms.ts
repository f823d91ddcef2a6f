// Search terms of a sale that are not columns. Pure; used for filling and for look-ups.
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import { type OperationName, operationOf } from '../../../kernel/operations.ts';
import type { Scope } from '../scope.ts';

export type TermKind = 'command' | 'invoice';

/** Shorter prefixes, of the text or of its letters and digits, would match a large part of the ledger. */
export const shortestPrefix = 4;
const shortestTerm = 3;
const longestTerm = 64;
const maxFound = 300;

/** Letters and digits in lower case: "R-4127" is found by "r4127", and both engines sort such texts equally. */
export function normalTerm(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^0-9a-z]/g, '')
    .slice(0, longestTerm);
}

/** A star keeps a card's digits apart from numbers that begin with them. */
export function cardTerm(text: string): string | undefined {
  const digits = /(\d{4})$/.exec(text)?.[1];
  return digits === undefined ? undefined : `*${digits}`;
}

interface SettledCommand {
  name: OperationName;
  args: string;
  report: string | null;
  rrn: string | null;
  receipt_id: string | null;
}

/** Of payments, refunds and voids the numbers of the bank; of a print those of the receipt. */
export function termsOfCommand({ name, args, report, rrn, receipt_id }: SettledCommand): string[] {
  const { isPayment, prints } = operationOf(name);
  const { authCode, maskedCard, fiscalNumber } = parsed(report);
  if (isPayment) return listed([authCode, rrn], typeof maskedCard === 'string' ? cardTerm(maskedCard) : undefined);
  if (!prints) return listed([rrn]);
  const receipt = (parsed(args)['receipt'] ?? {}) as Record<string, unknown>;
  return listed([receipt['Number'], fiscalNumber, receipt_id]);
}

export function termsOfInvoice(receipt: string): string[] {
  return listed([parsed(receipt)['Number']]);
}

function listed(values: readonly unknown[], card?: string): string[] {
  const terms = values.flatMap((value) => (typeof value === 'string' || typeof value === 'number' ? [normalTerm(String(value))] : []));
  return [...new Set([...terms, ...(card === undefined ? [] : [card])])].filter((term) => term !== '');
}

function parsed(text: string | null): Record<string, unknown> {
  return text === null ? {} : (JSON.parse(text) as Record<string, unknown>);
}

/** Bounded on both sides, so that an index can be used; the last condition is exact. */
export function startsWith(column: RawBuilder<unknown>, prefix: string): RawBuilder<SqlBool> {
  return sql<SqlBool>`(${column} >= ${prefix} and ${column} <= ${`${prefix}${'z'.repeat(longestTerm)}`} and substr(${column}, 1, ${sql.lit(prefix.length)}) = ${prefix})`;
}

/** One merchant, or each of them: the index begins with the merchant. */
function merchantsOf({ merchantId }: Scope): RawBuilder<SqlBool> {
  return merchantId === undefined
    ? sql<SqlBool>`s.merchant_id in (select m.id from merchants m)`
    : sql<SqlBool>`s.merchant_id = ${merchantId}`;
}

/** Ids of subjects with a term that begins with the text, or with a card that ends with its four digits. Bounded, unordered. */
export function subjectsOf(scope: Scope, kind: TermKind, text: string): RawBuilder<unknown>[] {
  const term = normalTerm(text);
  const isPrefix = text.trim().length >= shortestPrefix && term.length >= shortestTerm;
  const card = /^[*•x\s]*\d{4}$/i.test(text.trim()) ? cardTerm(text.trim()) : undefined;
  const find = (where: RawBuilder<SqlBool>) =>
    sql`(select s.subject_id from search_terms s where ${merchantsOf(scope)} and s.kind = ${sql.lit(kind)} and ${where} limit ${sql.lit(maxFound)})`;
  return [
    ...(term === '' ? [] : [find(isPrefix ? startsWith(sql`s.term`, term) : sql<SqlBool>`s.term = ${term}`)]),
    ...(card === undefined ? [] : [find(sql<SqlBool>`s.term = ${card}`)]),
  ];
}
