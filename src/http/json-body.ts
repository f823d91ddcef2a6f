// Reads a JSON body, and refuses early what would hurt later: too deep, too many values, endless numbers, broken UTF-8,
// texts that a database cannot hold (U+0000, half a surrogate pair) and names that reach for prototypes.
// Always holds: the time grows with the length of the body and no faster, whatever stands in it; nobody has shown a key yet.
import { GatewayError, invalidRequest } from '../kernel/error-codes.ts';

export interface JsonCaps {
  deepest: number;
  mostValues: number;
}

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;

/** Far more than any number needs, and short enough that whatever reads one may take its time. */
const longestNumber = 64;

/** A digit, a sign, a point or an e: what a number outside texts is written with. */
function isPartOfNumber(unit: number): boolean {
  return (unit >= 0x30 && unit <= 0x39) || unit === 0x2e || unit === 0x2d || unit === 0x2b || unit === 0x65 || unit === 0x45;
}

/** One pass over the text before anything is built from it, so that a hostile body costs no more than its length. */
function checkShape(text: string, caps: JsonCaps): void {
  let depth = 0;
  let values = 1;
  let inText = false;
  let digits = 0;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (inText) {
      if (unit === backslash) at += 1;
      else if (unit === quote) inText = false;
      continue;
    }
    digits = isPartOfNumber(unit) ? digits + 1 : 0;
    if (digits > longestNumber) throw invalidRequest(`A number in the body must not have more than ${longestNumber} characters.`);
    if (unit === quote) {
      inText = true;
    } else if (unit === 0x7b || unit === 0x5b) {
      depth += 1;
      values += 1;
      if (depth > caps.deepest) throw invalidRequest(`The body must not be nested deeper than ${caps.deepest} levels.`);
    } else if (unit === 0x7d || unit === 0x5d) {
      depth -= 1;
    } else if (unit === comma) {
      values += 1;
    }
    if (values > caps.mostValues) throw invalidRequest(`The body must not hold more than ${caps.mostValues} values.`);
  }
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

/** Fifteen digits pass through the parser unchanged; only a longer number needs a second look. */
const manyDigits = /[\d.]{16}/;

/** Digits and power of ten, so that 1.50, 1.5 and 15e-1 are one and the same. */
function decimalOf(text: string): string {
  const [mantissa = '', power = '0'] = text.toLowerCase().split('e');
  const [whole = '', places = ''] = mantissa.replace('-', '').split('.');
  const digits = `${whole}${places}`.replace(/^0+/, '');
  let end = digits.length;
  while (end > 0 && digits[end - 1] === '0') end -= 1;
  return `${digits.slice(0, end)}e${Number(power) - places.length + digits.length - end}`;
}

/**
 * A field of the body whose number the parser rounded stays the text that was sent: 10.1000000000000000001 is no amount, and must not become one [D12].
 * Only the outermost fields, where amounts are: further in, a price that some ERP computed in floating point is its own affair [D24].
 */
function parseKeepingDecimals(text: string): unknown {
  const rounded = new Map<object, [name: string, source: string][]>();
  const note = function (this: object, name: string, value: unknown, context?: { source?: string }): unknown {
    const source = context?.source;
    if (typeof value === 'number' && source !== undefined && decimalOf(source) !== decimalOf(String(value))) {
      const others = rounded.get(this);
      if (others === undefined) rounded.set(this, [[name, source]]);
      else others.push([name, source]);
    }
    return value;
  };
  const value: unknown = JSON.parse(text, note);
  if (value !== null && typeof value === 'object' && !Array.isArray(value)) {
    for (const [name, source] of rounded.get(value) ?? []) (value as Record<string, unknown>)[name] = source;
  }
  return value;
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Undefined for an empty body: whether one is needed is the schema's business, after the key's [D8]. */
export function parseJsonBody(bytes: Buffer, caps: JsonCaps): unknown {
  let text: string;
  try {
    // A byte order mark, which some ERP clients send, is dropped by the decoder.
    text = utf8.decode(bytes);
  } catch {
    throw invalidRequest('The body must be UTF-8.');
  }
  if (text.trim() === '') return undefined;
  checkShape(text, caps);
  let value: unknown;
  try {
    value = manyDigits.test(text) ? parseKeepingDecimals(text) : JSON.parse(text);
  } catch {
    // The parser's own message quotes the body, which may hold a key.
    throw invalidRequest('The body must be valid JSON.');
  }
  checkContent(value, '');
  return value;
}

/** Query texts go to the same places as body texts. */
export function checkQuery(query: unknown): void {
  for (const [name, value] of Object.entries((query ?? {}) as Record<string, unknown>)) {
    for (const text of [name, ...(Array.isArray(value) ? value : [value])]) {
      const fault = typeof text === 'string' ? textFault(text) : undefined;
      if (fault !== undefined) throw invalidRequest(`${shortName(name)} ${fault}.`);
    }
  }
}

export function checkCharset(contentType: string | undefined): void {
  const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(contentType ?? '')?.[1]?.toLowerCase();
  if (charset !== undefined && charset !== 'utf-8' && charset !== 'utf8' && charset !== 'us-ascii') {
    throw new GatewayError('Invalid_Request', 'The charset of Content-Type must be utf-8.', { httpStatus: 415 });
  }
}
