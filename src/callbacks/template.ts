// The CallbackURI template [D27]: its validation, and its expansion to the final URL.
// A value cannot change the structure of the URL: it is percent-encoded, inserted once, and only into the path or the query.
// The raw template is not a URL (`#` in `#OID#` would start a fragment), so it is split into parts before any of them is parsed.
import { invalidRequest } from '../kernel/error-codes.ts';

export interface TemplateValues {
  OID?: string | null | undefined;
  State?: string | null | undefined;
  ReceiptID?: string | null | undefined;
  DeviceID?: string | null | undefined;
}

export const maxTemplateLength = 2048;
/** The limit of DNS. The database indexes the host, and international letters become several characters each. */
const maxHostLength = 253;
const hostTooLong = `must not have a host longer than ${maxHostLength} characters (international letters count as the DNS writes them)`;

type Placeholder = keyof TemplateValues;

interface TemplateParts {
  /** Scheme, user, host and port, normalised, without a final slash. */
  origin: string;
  /** Path and query: literal texts, encoded for a request line, and placeholders between them. */
  pieces: ({ literal: string } | { placeholder: Placeholder })[];
}

/** With a plain or a percent-encoded `#` [D151]. */
const placeholderPattern = /(?:#|%23)(OID|State|ReceiptID|DeviceID)(?:#|%23)/y;
/** A word between two `#` was meant as a placeholder. */
const wordPattern = /(?:#|%23)([A-Za-z_]+)(?:#|%23)/y;

/** Throws Invalid_Request, naming CallbackURI, unless the template can be expanded for every state. */
export function checkTemplate(text: string): void {
  cut(text);
}

/** The final URL. Values that are missing become empty. */
export function expandTemplate(template: string, values: TemplateValues): string {
  const { origin, pieces } = cut(template);
  return origin + pieces.map((piece) => ('literal' in piece ? piece.literal : encodeValue(values[piece.placeholder] ?? ''))).join('');
}

function cut(text: string): TemplateParts {
  if (text.length > maxTemplateLength) throw broken(`must not be longer than ${maxTemplateLength} characters`);
  // A URL parser would silently drop line breaks and tabs, and trim blanks.
  if (/[\u0000-\u0020\u007f]/.test(text)) throw broken('must not contain blanks or control characters');
  const scheme = /^https?:\/\//i.exec(text)?.[0];
  if (scheme === undefined) throw broken('must be an absolute http or https URL');

  const authorityEnd = endOfAuthority(text, scheme.length);
  const authority = text.slice(scheme.length, authorityEnd);
  if (/[#\\]|%23/.test(authority)) throw broken('must not have a placeholder or a backslash before its path');
  return { origin: parseOrigin(scheme, authority), pieces: cutPathAndQuery(text.slice(authorityEnd)) };
}

/** The authority ends at the path, the query or a real fragment. A placeholder in it is included, so that it is refused. */
function endOfAuthority(text: string, start: number): number {
  for (let at = start; at < text.length; at += 1) {
    if (text[at] === '/' || text[at] === '?') return at;
    if (text[at] !== '#') continue;
    const placeholder = placeholderAt(text, at);
    if (placeholder === undefined) return at;
    at += placeholder.length - 1;
  }
  return text.length;
}

function parseOrigin(scheme: string, authority: string): string {
  const url = URL.parse(scheme + authority);
  if (url === null) throw broken('must have a valid host');
  if (url.hostname.length > maxHostLength) throw broken(hostTooLong);
  if (!isDecodable(url.username) || !isDecodable(url.password)) throw broken('must have a user and password that can be decoded');
  return url.href.replace(/\/$/, '');
}

/** The sender decodes the login for its Authorization header; it is refused now rather than at every attempt. */
function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

function cutPathAndQuery(text: string): TemplateParts['pieces'] {
  const pieces: TemplateParts['pieces'] = [];
  let literal = text.startsWith('/') ? '' : '/';
  let at = 0;
  while (at < text.length) {
    const placeholder = placeholderAt(text, at);
    if (placeholder !== undefined) {
      pieces.push({ literal: encodeLiteral(literal) }, { placeholder: placeholder.name });
      literal = '';
      at += placeholder.length;
      continue;
    }
    // A fragment is never sent. A second `#` means a placeholder that would be lost silently: misspelt, or in the fragment.
    if (isOtherWordAt(text, at) || (text[at] === '#' && text.includes('#', at + 1))) {
      throw broken('may contain only the placeholders #OID#, #State#, #ReceiptID# and #DeviceID#, in path and query');
    }
    if (text[at] === '#') break;
    literal += text[at];
    at += 1;
  }
  pieces.push({ literal: encodeLiteral(literal) });
  return pieces;
}

function placeholderAt(text: string, at: number): { name: Placeholder; length: number } | undefined {
  placeholderPattern.lastIndex = at;
  const match = placeholderPattern.exec(text);
  return match ? { name: match[1] as Placeholder, length: match[0].length } : undefined;
}

function isOtherWordAt(text: string, at: number): boolean {
  wordPattern.lastIndex = at;
  return wordPattern.test(text);
}

/** Encodes only characters that are not allowed in a request line. */
function encodeLiteral(text: string): string {
  return text.toWellFormed().replace(/[^\u0021-\u007e]|["<>\\^`{|}]/gu, (character) => encodeURIComponent(character));
}

function encodeValue(value: string): string {
  // A value of only dots would navigate in the path.
  if (value === '.' || value === '..') return value.replaceAll('.', '%2E');
  return encodeURIComponent(value.toWellFormed());
}

function broken(rule: string): Error {
  return invalidRequest(`CallbackURI ${rule}.`);
}
