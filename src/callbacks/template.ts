// The CallbackURI template [D27]: what is accepted at Create, and how it becomes the final URL.
// A value can never leave its place: it is percent-encoded, put in once, and only into the path or the query.
// The raw template is no URL (`#OID#` holds the fragment's sign), so it is cut into parts before anything parses it.
import { invalidRequest } from '../kernel/error-codes.ts';

export interface TemplateValues {
  OID?: string | null | undefined;
  State?: string | null | undefined;
  ReceiptID?: string | null | undefined;
  DeviceID?: string | null | undefined;
}

export const maxTemplateLength = 2048;
/** No name of the DNS is longer. A database may have to index it, and international letters are several times as long as they look. */
const maxHostLength = 253;
const tooLongAHost = `must not have a host longer than ${maxHostLength} characters (international letters count as the DNS writes them)`;

type Placeholder = keyof TemplateValues;

interface TemplateParts {
  /** Scheme, user, host and port, as a URL parser writes them: no slash at the end. */
  origin: string;
  /** Path and query: literal texts, already safe in a request line, and placeholders between them. */
  pieces: ({ literal: string } | { placeholder: Placeholder })[];
}

/** Plain, or as an encoder of URLs writes it [D151]. */
const placeholderPattern = /(?:#|%23)(OID|State|ReceiptID|DeviceID)(?:#|%23)/y;
/** A word between two of these signs was meant to be a placeholder. */
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
  // Control characters are what is looked for
  if (/[\u0000-\u0020\u007f]/.test(text)) throw broken('must not hold blanks or control characters');
  const scheme = /^https?:\/\//i.exec(text)?.[0];
  if (scheme === undefined) throw broken('must be an absolute http or https URL');

  const authorityEnd = endOfAuthority(text, scheme.length);
  const authority = text.slice(scheme.length, authorityEnd);
  if (/[#\\]|%23/.test(authority)) throw broken('must not have a placeholder or a backslash before its path');
  return { origin: parseOrigin(scheme, authority), pieces: cutPathAndQuery(text.slice(authorityEnd)) };
}

/** The authority ends at the path, the query or a real fragment; a placeholder is none of these and stays in, to be refused. */
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
  if (url === null) throw broken('must name a host that a URL can have');
  if (url.hostname.length > maxHostLength) throw broken(tooLongAHost);
  if (!isDecodable(url.username) || !isDecodable(url.password)) throw broken('must have a user and password that can be decoded');
  return url.href.replace(/\/$/, '');
}

/** The sender has to decode the login for its Authorization header; better refused now than at every attempt. */
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
    // A fragment is never sent. A second `#` in it is a placeholder that would be lost unnoticed: misspelt, or in the fragment.
    if (isOtherWordAt(text, at) || (text[at] === '#' && text.includes('#', at + 1))) {
      throw broken('knows only the placeholders #OID#, #State#, #ReceiptID# and #DeviceID#, in path and query');
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

/** What the merchant wrote stays as it is, save characters that a request line cannot carry. */
function encodeLiteral(text: string): string {
  return text.toWellFormed().replace(/[^\u0021-\u007e]|["<>\\^`{|}]/gu, (character) => encodeURIComponent(character));
}

function encodeValue(value: string): string {
  // A value of dots alone would be a step up in the path.
  if (value === '.' || value === '..') return value.replaceAll('.', '%2E');
  return encodeURIComponent(value.toWellFormed());
}

function broken(rule: string): Error {
  return invalidRequest(`CallbackURI ${rule}.`);
}
