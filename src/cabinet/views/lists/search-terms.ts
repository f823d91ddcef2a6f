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
  const digits = lastFour(text);
  return digits === undefined ? undefined : `*${digits}`;
}

/** The same for the end of an rrn, which is all that some slips print. */
function rrnTerm(text: unknown): string | undefined {
  const digits = lastFour(text);
  return digits === undefined ? undefined : `#${digits}`;
}

function lastFour(text: unknown): string | undefined {
  return typeof text === 'string' ? /(\d{4})$/.exec(text)?.[1] : undefined;
}

/** "RRN 631614008813", "AUTH: 283749", "Card ****4417": a number with its name as a slip or receipt prints it. */
const labels = [
  'rrn',
  String.raw`auth(?:[\s.]*code)?`,
  String.raw`cod(?:\s+de)?\s+autorizare`,
  '(?:masked)?card',
  'oid',
  'operation(?:id)?',
  'document(?:nr)?',
  'receipt',
  'invoice',
];
const labelled = new RegExp(String.raw`^(?:${labels.join('|')})[\s.:#№]+(?=\S)`, 'i');

export function withoutLabel(text: string): string {
  return text.trim().replace(labelled, '');
}

/** The last four digits of "RRN 8813". */
export function rrnEnd(text: string): string | undefined {
  return /^rrn[\s.:#№]+(\d{4})$/i.exec(text.trim())?.[1];
}

export interface MaskedCard {
  /** The digits before the mask, perhaps none. */
  begin: string;
  end: string;
}

/** A card number as it is printed: "516793******4417", "•••• 4417", or the last four digits alone. */
export function maskedCardIn(text: string): MaskedCard | undefined {
  const [, begin = '', mask, end] = /^(\d{0,8})([*•x]*)(\d{4})$/i.exec(text.replaceAll(/\s/g, '')) ?? [];
  if (end === undefined || (begin !== '' && mask === '')) return undefined;
  return { begin, end };
}

interface SettledCommand {
  name: OperationName;
  args: string;
  report: string | null;
  rrn: string | null;
  receipt_id: string | null;
}

/** Of payments, refunds and voids the numbers of the bank, a refund's own too; of a print those of the receipt. */
export function termsOfCommand({ name, args, report, rrn, receipt_id }: SettledCommand): string[] {
  const { isPayment, prints, effect } = operationOf(name);
  const { authCode, maskedCard, fiscalNumber, ...own } = parsed(report);
  if (isPayment) return listed([authCode, rrn], [typeof maskedCard === 'string' ? cardTerm(maskedCard) : undefined, rrnTerm(rrn)]);
  if (effect === 'refund') return listed([authCode, rrn, own['rrn'], own['operationId']], [rrnTerm(own['rrn'])]);
  if (!prints) return listed([rrn]);
  const receipt = (parsed(args)['receipt'] ?? {}) as Record<string, unknown>;
  return listed([receipt['Number'], fiscalNumber, receipt_id]);
}

export function termsOfInvoice(receipt: string): string[] {
  return listed([parsed(receipt)['Number']]);
}

function listed(values: readonly unknown[], ends: readonly (string | undefined)[] = []): string[] {
  const terms = values.flatMap((value) => (typeof value === 'string' || typeof value === 'number' ? [normalTerm(String(value))] : []));
  return [...new Set([...terms, ...ends.filter((end) => end !== undefined)])].filter((term) => term !== '');
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

/** Ids of subjects with a term that begins with the text, without its label, or with an rrn that ends with it. Bounded, unordered. */
export function subjectsOf(scope: Scope, kind: TermKind, text: string): RawBuilder<unknown>[] {
  const number = withoutLabel(text);
  const term = normalTerm(number);
  const isPrefix = number.length >= shortestPrefix && term.length >= shortestTerm;
  const end = rrnEnd(text);
  return [
    ...(term === '' ? [] : [find(scope, kind, isPrefix ? startsWith(sql`s.term`, term) : sql<SqlBool>`s.term = ${term}`)]),
    ...(end === undefined ? [] : [find(scope, kind, sql<SqlBool>`s.term = ${rrnTerm(end)}`)]),
  ];
}

/** Ids of subjects with a card that ends with these four digits. Bounded, unordered. */
export function subjectsOfCard(scope: Scope, kind: TermKind, { end }: MaskedCard): RawBuilder<unknown> {
  return find(scope, kind, sql<SqlBool>`s.term = ${cardTerm(end)}`);
}

const find = (scope: Scope, kind: TermKind, where: RawBuilder<SqlBool>) =>
  sql`(select s.subject_id from search_terms s where ${merchantsOf(scope)} and s.kind = ${sql.lit(kind)} and ${where} limit ${sql.lit(maxFound)})`;
