// Parses a JSON body. Refuses deep nesting, too many values, very long numbers, invalid UTF-8, texts that a database cannot store
// (U+0000, half a surrogate pair) and names for prototype pollution.
// Invariant: time is linear in the length of the body, whatever it contains, because the caller's key is not checked yet.
import { GatewayError, invalidRequest } from '../kernel/error-codes.ts';
import { isSameNumber } from '../kernel/exact-json.ts';
import { measureShape, numbersIn, repeatedName } from '../kernel/json-shape.ts';

export interface JsonCaps {
  deepest: number;
  maxValues: number;
}

/** More than any number needs, and short enough for parsers that are not linear. */
const maxNumberLength = 64;

function checkShape(bytes: Uint8Array, caps: JsonCaps): void {
  const { broken } = measureShape(bytes, { ...caps, maxNumberLength });
  if (broken === undefined) return;
  const sentences = {
    deepest: `The body must not be nested deeper than ${caps.deepest} levels.`,
    maxValues: `The body must not contain more than ${caps.maxValues} values.`,
    maxNumberLength: `A number in the body must not have more than ${maxNumberLength} characters.`,
  };
  throw invalidRequest(sentences[broken]);
}

/** The rule that a text breaks, or undefined. */
export function textFault(text: string): string | undefined {
  if (text.includes('\u0000')) return 'must not contain the character U+0000';
  return text.isWellFormed() ? undefined : 'must be valid Unicode text';
}

export function shortName(name: string): string {
  return name.replace(/[^\x20-\x7e]/g, '?').slice(0, 60);
}

function reachesPrototype(value: unknown): boolean {
  return value !== null && typeof value === 'object' && Object.hasOwn(value, 'prototype');
}

function checkContent(value: unknown, path: string): void {
  if (typeof value === 'string') {
    const fault = textFault(value);
    if (fault !== undefined) throw invalidRequest(`${path === '' ? 'The body' : path} ${fault}.`);
  } else if (Array.isArray(value)) {
    for (const [place, item] of value.entries()) checkContent(item, `${path}[${place}]`);
  } else if (value !== null && typeof value === 'object') {
    for (const name of Object.keys(value)) {
      const field = path === '' ? shortName(name) : `${path}.${shortName(name)}`;
      const fault = textFault(name);
      if (fault !== undefined) throw invalidRequest(`The name ${field} ${fault}.`);
      const item: unknown = (value as Record<string, unknown>)[name];
      if (name === '__proto__' || (name === 'constructor' && reachesPrototype(item))) {
        throw invalidRequest(`The name ${field} is not allowed.`);
      }
      checkContent(item, field);
    }
  }
}

/**
 * Every body that `checkContent` refuses matches this: U+0000 and half a surrogate pair are valid JSON in UTF-8 only as escapes, and the
 * letters of a name may be escaped. Nearly every body matches nothing and skips the walk.
 */
const mayBeRefused = /\\u|__proto__|constructor/;

/** The parser does not round a number of up to this many characters. */
const maxHeldLength = 15;
/** More than the amounts of any call. */
const maxLongNumbers = 100;
const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/**
 * Quotes a number of a top-level field that the parser would round, so that it arrives as text: 10.1000000000000000001 is no amount and must
 * not become one [D12]. All amounts are top-level fields. A nested price that an ERP computed in floating point may be rounded [D24].
 */
function quoteRoundedNumbers(text: string): string {
  let quoted = '';
  let copied = 0;
  let long = 0;
  for (const { start, end, isOutermost } of numbersIn(text)) {
    if (!isOutermost || end - start <= maxHeldLength) continue;
    long += 1;
    if (long > maxLongNumbers) throw invalidRequest(`The body must not have more than ${maxLongNumbers} fields with such long numbers.`);
    const source = text.slice(start, end);
    if (!jsonNumber.test(source) || isSameNumber(Number(source), source)) continue;
    quoted += `${text.slice(copied, start)}"${source}"`;
    copied = end;
  }
  return copied === 0 ? text : quoted + text.slice(copied);
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Undefined for an empty body: the schema decides later, after the key check, whether a body is required [D8]. */
export function parseJsonBody(bytes: Buffer, caps: JsonCaps): unknown {
  let text: string;
  try {
    // The decoder drops a byte order mark, which some ERP clients send.
    text = utf8.decode(bytes);
  } catch {
    throw invalidRequest('The body must be UTF-8.');
  }
  if (text.trim() === '') return undefined;
  checkShape(bytes, caps);
  const exact = quoteRoundedNumbers(text);
  let value: unknown;
  try {
    value = JSON.parse(exact);
  } catch {
    // The parser's own message quotes the body, which may hold a key.
    throw invalidRequest('The body must be valid JSON.');
  }
  if (mayBeRefused.test(text)) checkContent(value, '');
  const repeated = repeatedName(text);
  if (repeated !== undefined) throw invalidRequest(`${shortName(repeated)} occurs twice in one object of the body.`);
  return value;
}

/** Query texts are stored and shown like body texts. */
export function checkQuery(query: unknown): void {
  for (const [name, value] of Object.entries((query ?? {}) as Record<string, unknown>)) {
    for (const text of [name, ...(Array.isArray(value) ? value : [value])]) {
      const fault = typeof text === 'string' ? textFault(text) : undefined;
      if (fault !== undefined) throw invalidRequest(`${shortName(name)} ${fault}.`);
    }
  }
}

/** Unpacking would let a small body become a large one; ERPs' bodies are small anyway. */
export function checkEncoding(contentEncoding: string | undefined): void {
  if (contentEncoding === undefined || contentEncoding.trim().toLowerCase() === 'identity') return;
  throw new GatewayError('Invalid_Request', 'The body must not be compressed: leave the header Content-Encoding out.', { httpStatus: 415 });
}

export function checkCharset(contentType: string | undefined): void {
  const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(contentType ?? '')?.[1]?.toLowerCase();
  if (charset !== undefined && charset !== 'utf-8' && charset !== 'utf8' && charset !== 'us-ascii') {
    throw new GatewayError('Invalid_Request', 'The charset of Content-Type must be utf-8.', { httpStatus: 415 });
  }
}
