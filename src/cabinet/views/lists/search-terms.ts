// Terms by which a person finds a sale and that no column holds by itself. Pure, and shared by the filling and the looking up.
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import { type OperationName, operationOf } from '../../../kernel/operations.ts';
import type { Scope } from '../scope.ts';

export type TermKind = 'command' | 'invoice';

/** Shorter beginnings would match a large part of the ledger: of the text as it is typed, and of its letters and digits. */
export const shortestPrefix = 4;
const shortestTerm = 3;
const longestTerm = 64;
const maxFound = 300;

/** Letters and digits in lower case: "R-4127" is found by "r4127", and every engine sorts such texts alike. */
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

/** Of a payment, and of what takes its money back, the numbers of the bank; of a print those of the receipt. */
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

/** Bounded on both sides, so that an index serves; the last condition is the exact one. */
export function startsWith(column: RawBuilder<unknown>, prefix: string): RawBuilder<SqlBool> {
  return sql<SqlBool>`(${column} >= ${prefix} and ${column} <= ${`${prefix}${'z'.repeat(longestTerm)}`} and substr(${column}, 1, ${sql.lit(prefix.length)}) = ${prefix})`;
}

/** Of one merchant, or of each in turn: the key begins with it. */
function merchantsOf({ merchantId }: Scope): RawBuilder<SqlBool> {
  return merchantId === undefined
    ? sql<SqlBool>`s.merchant_id in (select m.id from merchants m)`
    : sql<SqlBool>`s.merchant_id = ${merchantId}`;
}

/** Ids of what the text may mean: terms that begin with it, or a card that ends with its four digits. Bounded, in no order. */
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
